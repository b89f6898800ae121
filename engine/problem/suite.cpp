#include <algorithm>

#include "engine/problem/problem.hpp"
#include "engine/util/error.hpp"

namespace fa_tune {

std::string to_text(SuiteName name) {
  switch (name) {
    case SuiteName::quick:
      return "quick";
    case SuiteName::ragged:
      return "ragged";
    case SuiteName::seven:
      return "seven";
    case SuiteName::ten:
      return "ten";
    case SuiteName::mission:
      return "mission";
  }
  return "unknown";
}

std::optional<Suite> find_suite(const Problem& problem, SuiteName name) {
  const auto suites = problem.suites();
  const auto found = std::ranges::find(suites, name, &Suite::name);
  return found == suites.end() ? std::nullopt : std::optional(*found);
}

std::vector<Suite> chosen_suites(const Problem& problem, const std::vector<std::string>& names) {
  const auto all = problem.suites();
  const auto is = [](const std::string& name) {
    return [&name](const Suite& suite) { return to_text(suite.name) == name; };
  };
  for (const std::string& name : names) {
    if (std::ranges::any_of(all, is(name))) continue;
    std::string known;
    for (const Suite& suite : all) known += (known.empty() ? "" : ", ") + to_text(suite.name);
    throw UserError("--suite '" + name + "': expected one of " + known);
  }
  std::vector<Suite> chosen;
  for (const Suite& suite : all)
    if (names.empty() || std::ranges::find(names, to_text(suite.name)) != names.end())
      chosen.push_back(suite);
  return chosen;
}

}  // namespace fa_tune
