#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/problem/problem.hpp"

namespace fa_tune::tuner {

// The problem a space names, with its settings ("shape.B" -> 1, "causal" -> false, ...). Throws
// UserError for an unknown kind or setting, naming the known ones; `where` is put before the
// message.
std::unique_ptr<problem::Problem> make_problem(
    const std::string& kind, const std::vector<std::pair<std::string, Value>>& settings,
    const std::string& where);
using ProblemMaker = decltype(make_problem);

}  // namespace fa_tune::tuner
