#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/device/emulator/cta.hpp"

namespace fa_tune::emulator {

// Runs CTAs of a launch over `threads` hardware threads. `blocks` names those to run; empty means
// all. Results do not depend on the number of threads unless the kernel has a race between CTAs; a
// kernel whose CTAs meet in order-dependent atomics runs on one thread. Of several CTAs in trouble
// the one with the lowest number is reported. Counts into `counters` if that is not null.
std::optional<Trouble> run_grid(const LaunchContext& context, int threads,
                                const std::vector<std::uint64_t>& blocks, Counters* counters);

// The CTAs a sample takes: all if there are at most `most`, else that many spread evenly over the
// grid, first and last among them.
std::vector<std::uint64_t> sample_blocks(std::uint64_t total, std::uint64_t most);

}  // namespace fa_tune::emulator
