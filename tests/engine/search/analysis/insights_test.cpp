#include "engine/search/analysis/insights.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <doctest/doctest.h>

#include "engine/search/analysis/main_effects.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::test {

using namespace fa_tune::search;

namespace {

using LogTime = std::function<double(const Config&)>;  // log of the time, without noise

std::int64_t gene(const Config& config, const char* name) {
  return std::get<std::int64_t>(*config.find(name));
}

// 4 x 3 x 2 x 2 x 3 configs.
Config draw(Random& random) {
  Config config;
  const auto one_of = [&](std::vector<std::int64_t> values) {
    return values[random.below(values.size())];
  };
  config.set("BLOCK", one_of({16, 32, 64, 128}));
  config.set("STAGES", one_of({1, 2, 3}));
  config.set("SWIZZLE", one_of({0, 1}));
  config.set("UNROLL", one_of({1, 4}));
  config.set("VEC", one_of({1, 2, 4}));
  return config;
}

// Different configs, drawn evenly, timed with an error of that many percent.
Insights random_search(std::uint64_t seed, int trials, const LogTime& landscape, double noise) {
  Random random(derive_seed(seed, "insights"));
  Insights insights;
  for (std::uint64_t number = 1; static_cast<int>(insights.trials()) < trials; ++number) {
    const Config config = draw(random);
    const double log_time = landscape(config) + noise * random.normal();
    insights.tell({number, config, true, std::exp(log_time), 1.0});
  }
  return insights;
}

// The child of the best so far, one gene changed: what a search does.
Insights greedy_search(std::uint64_t seed, int trials, const LogTime& landscape, double noise) {
  Random random(derive_seed(seed, "greedy"));
  Insights insights;
  Evaluation best;
  for (std::uint64_t number = 1; static_cast<int>(insights.trials()) < trials; ++number) {
    Config config = draw(random);
    if (best.time_us && random.below(5) != 0) {
      Config child = best.config;
      const auto& [name, value] = config.settings()[random.below(config.settings().size())];
      child.set(name, value);
      config = child;
    }
    const double us = std::exp(landscape(config) + noise * random.normal());
    const auto before = insights.trials();
    insights.tell({number, config, true, us, 1.0});
    if (insights.trials() > before && (!best.time_us || us < *best.time_us))
      best = {number, config, true, us, 1.0};
  }
  return insights;
}

double flat(const Config& /*config*/) { return 3.0; }

const Effect* find(const std::vector<Effect>& effects, const std::string& name, std::int64_t one,
                   std::int64_t other) {
  const auto found = std::find_if(effects.begin(), effects.end(), [&](const Effect& effect) {
    return effect.gene == name && ((effect.value == Value(one) && effect.against == Value(other)) ||
                                   (effect.value == Value(other) && effect.against == Value(one)));
  });
  return found == effects.end() ? nullptr : &*found;
}

// log time(one) - log time(other) as the effect has it, and its interval.
struct Directed {
  double ratio, low, high;
};
Directed directed(const Effect& effect, std::int64_t one) {
  if (effect.value == Value(one)) return {effect.log_ratio, effect.low, effect.high};
  return {-effect.log_ratio, -effect.high, -effect.low};
}

}  // namespace

TEST_CASE("a value that saves time is found with its size") {
  const LogTime landscape = [](const Config& config) {
    return 3.0 + (gene(config, "BLOCK") == 128 ? -0.12 : 0.0) +
           (gene(config, "SWIZZLE") == 1 ? -0.05 : 0.0);
  };
  const auto effects = random_search(1, 80, landscape, 0.02).effects();
  REQUIRE(!effects.empty());
  const Effect& first = effects.front();
  CHECK(first.gene == "BLOCK");
  CHECK(first.value == Value(std::int64_t{128}));
  CHECK(first.seen);
  CHECK(first.method == InsightMethod::pairs);
  CHECK(first.n >= 6);
  CHECK(first.low <= -0.12);
  CHECK(first.high >= -0.12);
  const Effect* swizzle = find(effects, "SWIZZLE", 1, 0);
  REQUIRE(swizzle != nullptr);
  CHECK(swizzle->seen);
  CHECK(swizzle->value == Value(std::int64_t{1}));
  for (const Effect& effect : effects)
    if (effect.gene == "UNROLL" || effect.gene == "VEC") CHECK(!effect.seen);
  // Seen ones by size, then the rest by how much is known of them.
  for (std::size_t i = 1; i < effects.size(); ++i) {
    CHECK(effects[i - 1].seen >= effects[i].seen);
    if (effects[i].seen) CHECK(effects[i - 1].log_ratio <= effects[i].log_ratio);
  }
}

TEST_CASE("intervals cover the truth, of pairs and of the model") {
  // Effects that differ from one background to another, so that the truth is a mean over all.
  const LogTime landscape = [](const Config& config) {
    const double stages = 0.04 * static_cast<double>(gene(config, "STAGES"));
    return stages * (gene(config, "SWIZZLE") == 1 ? 1.5 : 0.5) +
           (gene(config, "UNROLL") == 4 ? 0.1 : 0.0);
  };
  struct RunCounts {
    int all = 0;
    int covered = 0;
  };
  RunCounts pairs;
  RunCounts model;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    // 60 trials give most values pairs enough, 35 hardly any: those come from the model.
    const int trials = seed % 2 == 0 ? 60 : 35;
    const auto effects = random_search(seed, trials, landscape, 0.05).effects();
    const auto look = [&](const char* name, std::int64_t one, std::int64_t other, double truth) {
      const Effect* effect = find(effects, name, one, other);
      if (effect == nullptr) return;
      RunCounts& counts = effect->method == InsightMethod::pairs ? pairs : model;
      const Directed ratio = directed(*effect, one);
      ++counts.all;
      counts.covered += ratio.low <= truth && ratio.high >= truth;
    };
    look("UNROLL", 4, 1, 0.1);
    look("STAGES", 2, 1, 0.04);
    look("STAGES", 3, 1, 0.08);
    for (const std::int64_t block : {32, 64, 128}) look("BLOCK", block, 16, 0.0);
  }
  REQUIRE(pairs.all > 300);
  REQUIRE(model.all > 300);
  MESSAGE("pairs cover " << pairs.covered << " of " << pairs.all << ", the model " << model.covered
                         << " of " << model.all);
  CHECK(pairs.covered > 0.93 * pairs.all);
  CHECK(model.covered > 0.93 * model.all);
}

TEST_CASE("on noise nothing is claimed in 95 of 100 runs, over 1000 seeds") {
  int effects = 0;
  int interactions = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Insights insights = random_search(seed, 100, flat, 0.03);
    const auto seen = [](const auto& finding) { return finding.seen; };
    const auto found = insights.effects();
    effects += std::any_of(found.begin(), found.end(), seen);
    const auto together = insights.interactions();
    interactions += std::any_of(together.begin(), together.end(), seen);
  }
  MESSAGE("of 1000 runs on noise " << effects << " claim an effect, " << interactions
                                   << " an interaction");
  // 5% of 1000, and what chance adds to it in 1 of 1000 cases.
  CHECK(effects <= 71);
  CHECK(interactions <= 71);
}

TEST_CASE("a search that follows its luckiest trial claims little on noise") {
  int claimed = 0;
  double largest = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const auto effects = greedy_search(seed, 100, flat, 0.01).effects();
    claimed += !effects.empty() && effects.front().seen;
    for (const Effect& effect : effects)
      if (effect.seen) largest = std::max(largest, -effect.log_ratio);
  }
  MESSAGE("of 500 greedy runs on noise " << claimed << " claim an effect, at most " << 100 * largest
                                         << "%");
  CHECK(claimed <= 50);
}

TEST_CASE("two genes that act together are found, and those that only add up are not") {
  const LogTime landscape = [](const Config& config) {
    const bool both = gene(config, "SWIZZLE") == 1 && gene(config, "UNROLL") == 4;
    return 3.0 + (both ? -0.2 : 0.0) + (gene(config, "VEC") == 4 ? -0.3 : 0.0);
  };
  const auto found = random_search(2, 110, landscape, 0.02).interactions();
  REQUIRE(!found.empty());
  const Interaction& first = found.front();
  CHECK(first.seen);
  CHECK(first.gene == "SWIZZLE");
  CHECK(first.other_gene == "UNROLL");
  // Turned so that the ratio is below 1: either both good values come first or both bad ones.
  const bool good = first.value == Value(std::int64_t{1});
  CHECK(first.other_value == Value(std::int64_t{good ? 4 : 1}));
  CHECK(first.low <= -0.2);
  CHECK(first.high >= -0.2);
  for (const Interaction& interaction : found)
    if (interaction.seen) CHECK(interaction.gene + interaction.other_gene == "SWIZZLEUNROLL");
}

TEST_CASE("values that fail are found, with the stage that they failed") {
  Random random(4);
  Insights insights;
  for (std::uint64_t number = 1; insights.trials() < 90; ++number) {
    const Config config = draw(random);
    const bool passed = gene(config, "BLOCK") != 128 || gene(config, "STAGES") != 3;
    Evaluation told{number, config, passed, {}, 0.5};
    if (passed) told.time_us = 10;
    insights.tell(told, {"random", {}, passed ? "screen" : "resources"});
  }
  const auto failures = insights.failures();
  REQUIRE(!failures.empty());
  CHECK(failures[0].seen);
  CHECK(failures[1].seen);
  for (const FailureInsight& failure : failures) {
    const bool guilty = failure.gene == "BLOCK" ? failure.value == Value(std::int64_t{128})
                                                : failure.value == Value(std::int64_t{3});
    const bool is_gene = failure.gene == "BLOCK" || failure.gene == "STAGES";
    if (!is_gene) CHECK(!failure.seen);
    if (!is_gene || !guilty) continue;
    CHECK(failure.seen);
    CHECK(failure.stages.at("resources") == failure.failed.part);
    CHECK(failure.failed.rate() > failure.others.rate());
  }
}

TEST_CASE("failures by chance are no insight") {
  int claimed = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(derive_seed(seed, "chance"));
    Insights insights;
    for (std::uint64_t number = 1; insights.trials() < 60; ++number) {
      const bool passed = random.below(3) != 0;
      Evaluation told{number, draw(random), passed, {}, 0.5};
      if (passed) told.time_us = 10;
      insights.tell(told);
    }
    const auto failures = insights.failures();
    claimed += !failures.empty() && failures.front().seen;
  }
  CHECK(claimed <= 71);
}

TEST_CASE("operators are paid by what their children gain over their parents") {
  Insights insights;
  const auto tell = [&](std::uint64_t number, std::int64_t block, double us,
                        const TrialOrigin& origin) {
    insights.tell({number, Config({{"BLOCK", block}}), us > 0,
                   us > 0 ? std::optional(us) : std::nullopt, 2.0},
                  origin);
  };
  tell(1, 1, 100, {"preset", {}, "screen"});
  tell(2, 2, 50, {"adjacent", {1}, "screen"});
  tell(3, 3, 200, {"adjacent", {1}, "screen"});
  tell(4, 4, 0, {"adjacent", {1}, "gate"});
  tell(5, 5, 90, {"swap", {1}, "screen"});
  const auto gains = insights.operators();
  REQUIRE(gains.size() == 3);
  CHECK(gains[0].operation == "adjacent");
  CHECK(gains[0].trials == 3);
  CHECK(gains[0].passed.part == 2);
  CHECK(gains[0].better.part == 1);
  CHECK(gains[0].better.of == 2);
  CHECK(gains[0].log_gain == doctest::Approx(std::log(2)));
  CHECK(gains[0].per_s == doctest::Approx(std::log(2) / 6));
  CHECK(gains[0].per_s_low == 0);
  CHECK(gains[0].per_s_high == doctest::Approx(std::log(2) / 2));
  CHECK(gains[1].operation == "swap");
  CHECK(gains[2].per_s == 0);
}

TEST_CASE("genes that come and go, and a run of nothing") {
  CHECK(Insights().effects().empty());
  CHECK(Insights().interactions().empty());
  CHECK(Insights().failures().empty());
  CHECK(Insights().operators().empty());
  Insights insights;
  std::uint64_t number = 0;
  for (std::int64_t block = 0; block < 8; ++block)
    for (std::int64_t stages = 0; stages < 3; ++stages) {
      Config config({{"BLOCK", block}});
      if (stages > 0) config.set("STAGES", stages);
      const double us = 100 - static_cast<double>(block) - 20.0 * static_cast<double>(stages == 2);
      insights.tell({++number, config, true, us, 1});
      insights.tell({number, config, true, us, 1});
    }
  CHECK(insights.trials() == 24);
  const auto effects = insights.effects();
  const Effect* stages = find(effects, "STAGES", 2, 1);
  REQUIRE(stages != nullptr);
  CHECK(stages->n == 8);
  CHECK(stages->seen);
  CHECK(stages->value == Value(std::int64_t{2}));
}

TEST_CASE("an amount that one config alone decides is no effect, however sure the others are") {
  // Gene 0 has its value 1 only where gene 1 has values that nothing else has.
  std::vector<Codes> configs;
  std::vector<double> figures;
  for (std::uint16_t i = 0; i < 40; ++i) {
    configs.push_back({1, 1, static_cast<std::uint16_t>(1 + i % 2)});
    figures.push_back(i % 2 == 0 ? 5.0 : 5.3);
  }
  for (std::uint16_t i = 0; i < 6; ++i) {
    configs.push_back({2, static_cast<std::uint16_t>(2 + i), 1});
    figures.push_back(4.0);
  }
  const auto effects = main_effects(configs, figures);
  for (const MainEffect& effect : effects) CHECK(effect.contrast.gene == 2);
  CHECK(effects.size() == 1);
}

}  // namespace fa_tune::test
