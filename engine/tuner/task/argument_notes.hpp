#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/kernel/template/template.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune::tuner {

// The arguments of a kernel in its order, each with what a host passes for it. `scope` holds the
// constants that the template's expressions may use at `shape`.
std::vector<std::pair<std::string, std::string>> argument_notes(const kernel::Template& from,
                                                                const Config& config,
                                                                const problem::Problem& problem,
                                                                const Constants& shape,
                                                                const Constants& scope);

}  // namespace fa_tune::tuner
