#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/device/emulator/ir/program.hpp"

namespace fa_tune::emulator {

// The cp.async of a warp that its threads have not waited for yet, whenever the bytes move: what
// counts is when a thread may know that they have.
class PendingCopies {
 public:
  struct Copy {
    std::uint32_t op = 0;                            // index of the instruction
    std::uint32_t lanes = 0;                         // that have not waited
    std::uint32_t bytes = 0;                         // a lane
    std::array<std::uint32_t, kWarpSize> offsets{};  // in the CTA's shared memory
    std::array<std::uint32_t, kWarpSize> groups{};   // the lane's commits before it
  };

  void begin(const Copy& copy) { copies_.push_back(copy); }
  bool empty() const { return copies_.empty(); }
  void clear() { copies_.clear(); }
  // A copy that a lane of `mask` has under way, or null.
  const Copy* of_lanes(std::uint32_t mask) const {
    for (const Copy& copy : copies_) {
      if ((copy.lanes & mask) != 0) return &copy;
    }
    return nullptr;
  }

  // Takes out what `covers(copy, lane)` says of the lanes in `mask`, and calls `done(copy, lane)`.
  template <class Covers, class Done>
  void end(std::uint32_t mask, Covers&& covers, Done&& done) {
    for (Copy& copy : copies_) {
      for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
        const std::uint32_t bit = 1U << lane;
        if ((copy.lanes & mask & bit) == 0 || !covers(copy, lane)) continue;
        copy.lanes &= ~bit;
        done(copy, lane);
      }
    }
    std::erase_if(copies_, [](const Copy& copy) { return copy.lanes == 0; });
  }

 private:
  std::vector<Copy> copies_;
};

}  // namespace fa_tune::emulator
