#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/device/emulator/trace/record.hpp"

namespace fa_tune::emulator {

// The CTAs that an SM runs, in the order of the grid. Recorded ones stand for those that were not
// recorded.
class RecordedWork {
 public:
  RecordedWork(const Record& record, std::uint64_t blocks) : record_(record), blocks_(blocks) {}

  // Where no SM has more than one, the kernel ends with the one that has most to do: a persistent
  // grid's whose tiles do not come out even, the last rows under a causal mask.
  const BlockTrace& trace_of(std::uint64_t number) const {
    const auto& blocks = record_.blocks();
    if (blocks_ == 1) return *std::ranges::max_element(blocks, {}, instructions_of);
    const auto index =
        static_cast<std::size_t>((static_cast<double>(number) + 0.5) *
                                 static_cast<double>(blocks.size()) / static_cast<double>(blocks_));
    return blocks[std::min(index, blocks.size() - 1)];
  }
  // Warp instructions of all CTAs, and what the traces keep of the first `count`.
  double instructions() const {
    double all = 0;
    for (std::uint64_t i = 0; i < blocks_; ++i) {
      for (const WarpTrace& warp : trace_of(i).warps) all += static_cast<double>(warp.instructions);
    }
    return all;
  }
  double kept(std::uint64_t count) const {
    double kept = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      for (const WarpTrace& warp : trace_of(i).warps) kept += static_cast<double>(warp.kept);
    }
    return kept;
  }

 private:
  static std::uint64_t instructions_of(const BlockTrace& block) {
    std::uint64_t sum = 0;
    for (const WarpTrace& warp : block.warps) sum += warp.instructions;
    return sum;
  }

  const Record& record_;
  std::uint64_t blocks_;
};

}  // namespace fa_tune::emulator
