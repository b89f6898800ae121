#pragma once

#include <cstdint>

#include "engine/device/emulator/state/access.hpp"

namespace fa_tune::emulator {

// Wavefronts of one access to shared memory or L1, which are one memory: each has what lies in its
// banks once. Addresses are within the space; `bytes` are a lane's.
struct Wavefronts {
  std::uint64_t taken = 0;
  std::uint64_t ideal = 0;  // had there been no bank conflict

  void add(std::uint32_t together) {
    taken += together;
    ideal += together > 0 ? 1 : 0;
  }
};

Wavefronts shared_wavefronts(std::uint32_t mask, std::uint32_t bytes, const Addresses& addresses);
// Of matrices: eight rows of 16 bytes each, whose addresses lanes give.
Wavefronts shared_wavefronts_of_rows(std::uint32_t givers, const Addresses& addresses);
// Of global memory, as if L1 had it.
std::uint32_t global_wavefronts(std::uint32_t mask, std::uint32_t bytes,
                                const Addresses& addresses);

}  // namespace fa_tune::emulator
