#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/device/emulator/cta.hpp"

namespace fa_tune::emulator {

// Runs clusters of a launch (of one CTA each mostly) over `threads` hardware threads. `clusters`
// names those to run; empty means all. Results do not depend on the number of threads unless the
// kernel has a race between CTAs; a kernel whose CTAs meet in order-dependent atomics runs on one
// thread. Of several clusters in trouble the one with the lowest number is reported. What was
// counted is put into `record` if that is not null.
std::optional<Trouble> run_grid(const LaunchContext& context, int threads,
                                const std::vector<std::uint64_t>& clusters, Record* record);

// What a sample of `total` takes: all if there are at most `most`, else that many spread evenly,
// first and last among them.
std::vector<std::uint64_t> sample_evenly(std::uint64_t total, std::uint64_t most);

}  // namespace fa_tune::emulator
