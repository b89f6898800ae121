#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/search/strategy.hpp"

namespace fa_tune::search {

// A strategy by its spec: a name, and after a colon its options, "evolve" or
// "evolve:surrogate=off,population=islands". Throws UserError for a name, option or value that is
// not known, listing the known ones.
std::unique_ptr<Strategy> make_strategy(const std::string& spec, const SearchTask& task);
std::vector<std::string> strategy_names();

}  // namespace fa_tune::search
