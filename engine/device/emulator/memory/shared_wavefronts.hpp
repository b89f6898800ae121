#pragma once

#include <cstdint>

#include "engine/device/emulator/state/access.hpp"
#include "engine/device/emulator/trace/counters.hpp"

namespace fa_tune::emulator {

// Wavefronts of one access to shared memory, which is to have what lies in its banks once: added to
// the counters. Addresses are within the space.

// `bytes` a lane.
void count_shared(Counters& counters, std::uint32_t mask, std::uint32_t bytes,
                  const Addresses& addresses);
// Of matrices: eight rows of 16 bytes each, whose addresses lanes give.
void count_shared_rows(Counters& counters, std::uint32_t givers, const Addresses& addresses);

}  // namespace fa_tune::emulator
