#pragma once

#include <cstdint>
#include <memory>

#include "engine/search/strategy.hpp"

namespace fa_tune {

// One maker a strategy, each in the file of its name; the table in strategy.cpp lists them.
std::unique_ptr<Strategy> make_random_search(const Space& space, std::uint64_t seed);
std::unique_ptr<Strategy> make_evolution(const Space& space, std::uint64_t seed);

}  // namespace fa_tune
