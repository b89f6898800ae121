#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/emulator/target/launch.hpp"
#include "engine/device/emulator/trace/record.hpp"

namespace fa_tune::emulator {

// The CTAs that one SM runs, the one that is done last, in their order. Recorded ones stand for
// those that were not recorded.
class RecordedWork {
 public:
  // Of a launch of `grid` on `sms` SMs that hold `resident` CTAs each. The record has a CTA at
  // least, and outlives this.
  RecordedWork(const Record& record, const Dim3& grid, std::uint64_t sms, int resident);

  std::uint64_t count() const { return order_.size(); }
  const BlockTrace& trace_of(std::uint64_t number) const {
    return record_.blocks()[order_[number]];
  }
  // Warp instructions of all CTAs, and what the traces keep of the first `count`.
  double instructions() const;
  double kept(std::uint64_t count) const;

 private:
  const Record& record_;
  std::vector<std::size_t> order_;  // of the record's CTAs
};

}  // namespace fa_tune::emulator
