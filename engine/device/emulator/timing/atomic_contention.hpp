#pragma once

#include <cstdint>

#include "engine/device/emulator/target/profile.hpp"
#include "engine/device/emulator/trace/atomic_sectors.hpp"

namespace fa_tune::emulator {

// How long L2 works on the atomic operations of a grid, in us. `atomics`: those of `counted` CTAs,
// of which the grid has `to_grid` times as many. 0 where the profile does not say how fast L2 is.
//
// A line of 128 bytes lies in one slice of L2, which does one operation on a sector after the
// other; one of floating point waits for the last one on its sector. So few lines keep few slices
// busy. What all counted CTAs operate on is taken for the whole grid's, anything else for theirs
// alone, of which the grid has others. From `bench_microbench DEVICE OUT atomics`: red and atom of
// u32 and f32, 1 to 16,384 lines, on an H100. Of lone sectors it is up to half too fast.
double atomic_us(const DeviceProfile& profile, const AtomicSectors& atomics, std::uint64_t counted,
                 double to_grid);

}  // namespace fa_tune::emulator
