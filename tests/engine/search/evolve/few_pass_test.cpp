// Where next to nothing passes, the search stays near what did until it knows enough to model times.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "engine/search/catalog/make_strategy.hpp"
#include "engine/search/strategy.hpp"
#include "engine/space/space.hpp"

namespace fa_tune::test {

using namespace fa_tune::search;
using namespace fa_tune::space;

namespace {

// Of ten genes of eight values two decide alone whether a config passes: one in 64 does. The preset
// is one of them, as the default config of a stranger's kernel is.
Space of_few_that_pass() {
  SpaceParts parts;
  parts.name = "few";
  std::vector<std::pair<std::string, Value>> preset;
  for (int gene = 0; gene < 10; ++gene) {
    const std::string name = "G" + std::to_string(gene);
    std::vector<Value> values;
    for (std::int64_t value = 0; value < 8; ++value) values.emplace_back(value);
    parts.parameters.push_back({name, std::move(values), {}, {}});
    preset.emplace_back(name, std::int64_t{5});
  }
  parts.presets.push_back({"start", Config(std::move(preset)), {}});
  return Space::build(std::move(parts));
}

bool passes(const Config& config) {
  return *config.find("G2") == Value(std::int64_t{5}) &&
         *config.find("G7") == Value(std::int64_t{5});
}

}  // namespace

TEST_CASE("where one config in 64 passes, many of a search's trials do all the same") {
  const Space space = of_few_that_pass();
  int passed = 0;
  constexpr int kSeeds = 10, kTrials = 40;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto strategy = make_strategy("evolve", {.space = space, .seed = seed});
    for (std::uint64_t number = 1; number <= kTrials; ++number) {
      const Config config = strategy->ask(1).at(0).config;
      const bool good = passes(config);
      passed += good;
      strategy->tell({number, config, good,
                      good ? std::optional(1000.0 / static_cast<double>(number)) : std::nullopt,
                      1});
    }
  }
  MESSAGE(passed, " of ", kSeeds * kTrials, " passed");
  CHECK(passed >= kSeeds * kTrials / 4);
}

}  // namespace fa_tune::test
