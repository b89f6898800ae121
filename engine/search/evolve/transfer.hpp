#pragma once

#include <cstddef>
#include <vector>

#include "engine/search/strategy.hpp"

namespace fa_tune {

// The fastest configs of earlier runs that are valid here, in turns from each run, `most` in all.
// Two of them differ in at least two genes: a run's fastest are mostly one config and its
// neighbours.
std::vector<Genome> configs_to_transfer(const Space& space, const std::vector<PriorTrials>& earlier,
                                        std::size_t most);

}  // namespace fa_tune
