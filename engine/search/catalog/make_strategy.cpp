#include "engine/search/catalog/make_strategy.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "engine/search/strategy_spec.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::search {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Strategy> (*make)(const SearchTask&, StrategySpec&);
};

constexpr std::array kStrategies = {
    Entry{"evolve", make_evolve},
    Entry{"random", make_random_search},
    Entry{"exhaustive", make_exhaustive},
    Entry{"genetic", make_genetic},
    Entry{"simulated_annealing", make_simulated_annealing},
    Entry{"ils", make_iterated_local_search},
    Entry{"differential_evolution", make_differential_evolution},
};

}  // namespace

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  names.reserve(kStrategies.size());
  for (const Entry& entry : kStrategies) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Strategy> make_strategy(const std::string& spec, const SearchTask& task) {
  StrategySpec parsed = StrategySpec::parse(spec);
  const auto entry = std::ranges::find(kStrategies, parsed.name(), &Entry::name);
  if (entry == kStrategies.end())
    throw UserError(fmt::format("unknown strategy '{}', expected one of: {}", parsed.name(),
                                fmt::join(strategy_names(), ", ")));
  auto strategy = entry->make(task, parsed);
  parsed.require_no_others();
  return strategy;
}

}  // namespace fa_tune::search
