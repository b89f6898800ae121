#include "engine/tuner/task/make_problem.hpp"

#include "engine/problem/attention/attention.hpp"
#include "engine/problem/custom/custom.hpp"
#include "engine/problem/problem.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::tuner {

std::unique_ptr<problem::Problem> make_problem(
    const std::string& kind, const std::vector<std::pair<std::string, Value>>& settings,
    const std::string& where) {
  if (kind == "attention")
    return std::make_unique<problem::AttentionProblem>(problem::parse_attention(settings, where));
  if (kind == "custom") return problem::make_custom_problem(settings, where);
  throw UserError(where + "unknown problem kind '" + kind +
                  "': the known kinds are: attention, custom");
}

}  // namespace fa_tune::tuner
