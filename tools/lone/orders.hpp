#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/lone/run.hpp"

namespace fa_tune::lone {

// The fewest clusters of a launch with which `fault` still comes in its schedule, by their numbers:
// delta debugging (Zeller and Hildebrandt 2002), with a limited number of runs. Empty where the
// launch has too many, or where nothing could be left out. A fault is the same if it is of the same
// kind at the same place of the kernel.
std::vector<std::uint64_t> fewest_clusters(device::Device& device, const KernelImage& image,
                                           const LoneLaunch& launch, const device::Fault& fault);

// "; schedule 17 with blocks 1 and 4 alone: --schedule 17 --only 1,4", to stand behind a finding.
std::string how_to_run_again(const LoneLaunch& launch, const std::vector<std::uint64_t>& only);

}  // namespace fa_tune::lone
