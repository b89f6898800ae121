#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/device/emulator/state/cta.hpp"

namespace fa_tune::emulator {

// The sixteen barriers of a CTA: bar and barrier.
class NamedBarriers {
 public:
  explicit NamedBarriers(Cta& cta) : cta_(cta) {}

  void clear() { barriers_.fill({}); }
  // Path number `chosen` of the warp comes to the barrier that `op` names.
  void arrive(Warp& warp, std::size_t chosen, const Op& op);
  // Releases those that all threads they wait for have reached.
  void complete();

 private:
  struct Barrier {
    std::uint32_t expected = 0;  // threads; 0: all of the CTA that have not exited
    std::uint32_t arrived = 0;   // counted when `expected` is given
    bool in_use = false;
    std::uint32_t votes = 0;  // bar.red: threads whose predicate held
    std::uint32_t voters = 0;
  };

  void release(std::uint8_t id);

  Cta& cta_;
  std::array<Barrier, kBarriersACta> barriers_{};
};

}  // namespace fa_tune::emulator
