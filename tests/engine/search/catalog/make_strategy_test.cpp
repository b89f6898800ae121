#include "engine/search/catalog/make_strategy.hpp"

#include <cmath>
#include <set>

#include <doctest/doctest.h>

#include "engine/search/strategy.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::test {

using namespace fa_tune::expression;
using namespace fa_tune::search;
using namespace fa_tune::space;

namespace {

std::vector<Value> values_between(std::int64_t first, std::int64_t last) {
  std::vector<Value> values;
  for (std::int64_t value = first; value <= last; ++value) values.emplace_back(value);
  return values;
}

Config point(std::int64_t a, std::int64_t b, std::int64_t c) {
  return Config({{"A", a}, {"B", b}, {"C", c}});
}

// 20 x 20 x 20 with a third of it cut away, and a preset.
Space cube() {
  SpaceParts parts;
  parts.name = "cube";
  for (const char* name : {"A", "B", "C"})
    parts.parameters.push_back({name, values_between(0, 19), {}, {}});
  parts.constraints.push_back({Expression::parse("(A + B) % 3 != 0"), "", ""});
  parts.presets.push_back({"start", point(19, 0, 19), {}});
  return Space::build(std::move(parts));
}

// A bowl with its bottom at (4, 9, 13); a fifth of the configs are 'wrong'.
Evaluation evaluate(const Config& config, std::uint64_t number) {
  const auto at = [&](const char* name) {
    return static_cast<double>(std::get<std::int64_t>(*config.find(name)));
  };
  const double distance = std::abs(at("A") - 4) + std::abs(at("B") - 9) + std::abs(at("C") - 13);
  Evaluation told{
      number, config, static_cast<int>(at("A") * 7 + at("B") * 3 + at("C")) % 5 != 0, {}, 1};
  if (told.passed) told.time_us = 10 + distance;
  return told;
}

struct PlayResult {
  std::vector<std::string> configs;
  double best = INFINITY;
};

PlayResult play(Strategy& strategy, int trials, int batch) {
  PlayResult outcome;
  std::uint64_t number = 0;
  while (static_cast<int>(outcome.configs.size()) < trials) {
    const auto proposals = strategy.ask(batch);
    if (proposals.empty()) break;
    for (const Proposal& proposal : proposals) {
      const Evaluation told = evaluate(proposal.config, ++number);
      for (const std::uint64_t parent : proposal.parents) CHECK(parent < number);
      outcome.configs.push_back(proposal.config.to_json());
      if (told.time_us) outcome.best = std::min(outcome.best, *told.time_us);
      strategy.tell(told);
    }
  }
  return outcome;
}

}  // namespace

TEST_CASE(
    "every strategy: valid configs only, none twice, presets first, the same for the same seed") {
  const Space space = cube();
  for (const std::string& name : strategy_names()) {
    CAPTURE(name);
    auto one = make_strategy(name, {.space = space, .seed = 5}),
         same = make_strategy(name, {.space = space, .seed = 5}),
         other = make_strategy(name, {.space = space, .seed = 6});
    const PlayResult a = play(*one, 200, 8), b = play(*same, 200, 8), c = play(*other, 200, 8);
    CHECK(a.configs == b.configs);
    if (name != "exhaustive") CHECK(a.configs != c.configs);  // which draws nothing
    CHECK(a.configs.front() == point(19, 0, 19).to_json());
    CHECK(std::set<std::string>(a.configs.begin(), a.configs.end()).size() == a.configs.size());
    for (const std::string& config : a.configs)
      CHECK(space.index_of(Config::from_json(config)).has_value());
  }
}

TEST_CASE("evolve begins without presets if so asked") {
  const Space space = cube();
  auto without = make_strategy("evolve:presets=off", {.space = space, .seed = 5});
  for (const Proposal& proposal : without->ask(8)) {
    CHECK(proposal.operation == "random");
    CHECK_FALSE(proposal.config == point(19, 0, 19));
  }
}

TEST_CASE("every strategy ends when the space is used up, having seen all of it") {
  SpaceParts parts;
  parts.name = "line";
  parts.parameters.push_back({"A", values_between(0, 36), {}, {}});
  const Space space = Space::build(std::move(parts));
  for (const std::string& name : strategy_names()) {
    CAPTURE(name);
    auto strategy = make_strategy(name, {.space = space, .seed = 1});
    std::set<std::string> seen;
    std::uint64_t number = 0;
    for (auto batch = strategy->ask(10); !batch.empty(); batch = strategy->ask(10))
      for (const Proposal& proposal : batch) {
        seen.insert(proposal.config.to_json());
        strategy->tell({++number, proposal.config, number % 2 == 0, 1.0, 1});
      }
    CHECK(seen.size() == 37);
  }
}

TEST_CASE(
    "who learns asks for other things when told other things, and who does not for the same") {
  const Space space = cube();
  for (const std::string& name : strategy_names()) {
    CAPTURE(name);
    const auto asked = [&](bool rising) {
      auto strategy = make_strategy(name, {.space = space, .seed = 3});
      std::vector<std::string> configs;
      for (std::uint64_t number = 0; number < 80;)
        for (const Proposal& proposal : strategy->ask(4)) {
          configs.push_back(proposal.config.to_json());
          const auto a = static_cast<double>(std::get<std::int64_t>(*proposal.config.find("A")));
          strategy->tell({++number, proposal.config, true, rising ? 1 + a : 100 - a, 1});
        }
      return configs;
    };
    const bool learns = make_strategy(name, {.space = space, .seed = 3})->learns();
    CHECK((asked(true) != asked(false)) == learns);
  }
}

TEST_CASE("every strategy leaves alone what another took, and bears being told of it") {
  const Space space = cube();
  for (const std::string& name : strategy_names()) {
    CAPTURE(name);
    auto strategy = make_strategy(name, {.space = space, .seed = 3});
    Random others(4);
    std::set<std::string> tried;
    std::uint64_t number = 0;
    for (int generation = 0; generation < 30; ++generation) {
      std::vector<Config> configs;
      while (configs.size() < 4) {
        const Config config = space.sample(others);
        if (!tried.insert(config.to_json()).second) continue;
        strategy->take(config);
        configs.push_back(config);
      }
      for (const Proposal& proposal : strategy->ask(4)) {
        CHECK(tried.insert(proposal.config.to_json()).second);
        configs.push_back(proposal.config);
      }
      CHECK(configs.size() == 8);
      for (const Config& config : configs) strategy->tell(evaluate(config, ++number));
    }
  }
}

TEST_CASE("evolve finds better than random at an equal budget, over seeds") {
  const Space space = cube();
  int wins = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto evolve = make_strategy("evolve", {.space = space, .seed = seed}),
         random = make_strategy("random", {.space = space, .seed = seed});
    if (play(*evolve, 150, 8).best < play(*random, 150, 8).best) ++wins;
  }
  CHECK(wins >= 17);
}

TEST_CASE("an unknown strategy is answered with the known ones") {
  const Space space = cube();
  const SearchTask task{.space = space};
  CHECK_THROWS_WITH_AS(
      make_strategy("evolv", task),
      "unknown strategy 'evolv', expected one of: evolve, random, exhaustive, genetic, "
      "simulated_annealing, ils, differential_evolution",
      UserError);
}

}  // namespace fa_tune::test
