#include "engine/search/strategy.hpp"

#include <array>

#include "engine/base/error.hpp"
#include "engine/search/strategies.hpp"

namespace fa_tune {
namespace {

struct Entry {
  const char* name;
  std::unique_ptr<Strategy> (*make)(const Space&, std::uint64_t);
};

constexpr std::array kStrategies = {Entry{"evolve", make_evolution},
                                    Entry{"random", make_random_search}};

}  // namespace

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  names.reserve(kStrategies.size());
  for (const Entry& entry : kStrategies) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Strategy> make_strategy(const std::string& name, const Space& space,
                                        std::uint64_t seed) {
  std::string known;
  for (const Entry& entry : kStrategies) {
    if (name == entry.name) return entry.make(space, seed);
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw UserError("unknown strategy '" + name + "', expected one of: " + known);
}

}  // namespace fa_tune
