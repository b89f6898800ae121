// The textbook strategies on landscapes whose optimum is known: what they are worth beside random,
// at any batch size, and that failures are no place to go on from.

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include <doctest/doctest.h>

#include "engine/search/catalog/make_strategy.hpp"
#include "engine/search/strategy.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::test {

using namespace fa_tune::expression;
using namespace fa_tune::search;
using namespace fa_tune::space;

namespace {

std::vector<Value> range(std::int64_t first, std::int64_t last) {
  std::vector<Value> values;
  for (std::int64_t value = first; value <= last; ++value) values.emplace_back(value);
  return values;
}

struct Landscape {
  Space space;
  // Of the digits; nothing where the config fails.
  std::function<std::optional<double>(const Genome&)> time;
};

// Seven genes, a third of all configs invalid: a slope with ripples on it, so that many configs are
// better than all that differ from them in one gene's next value.
Landscape rippled() {
  SpaceParts parts;
  parts.name = "rippled";
  for (const char* name : {"A", "B", "C", "D", "E", "F", "G"})
    parts.parameters.push_back({name, range(0, 7), {}, {}});
  parts.constraints.push_back({Expression::parse("(A + B + C) % 3 != 0"), "", ""});
  return {Space::build(std::move(parts)), [](const Genome& genome) -> std::optional<double> {
            double distance = 0;
            for (std::size_t i = 0; i < genome.size(); ++i) {
              const double off = std::abs(genome[i] - static_cast<double>((3 * i + 2) % 8));
              distance += off + (std::fmod(off, 2) == 1 ? 1.2 : 0);
            }
            return 10 + distance;
          }};
}

// Genes that work in pairs: a good value of one is bad without its partner's. A fifth fails.
Landscape paired() {
  SpaceParts parts;
  parts.name = "paired";
  for (const char* name : {"A", "B", "C", "D", "E", "F"})
    parts.parameters.push_back({name, range(0, 11), {}, {}});
  parts.constraints.push_back({Expression::parse("A * B <= 60 and C * D <= 60"), "", ""});
  return {Space::build(std::move(parts)), [](const Genome& genome) -> std::optional<double> {
            if ((genome[0] * 5 + genome[3] * 3 + genome[5]) % 5 == 0) return std::nullopt;
            double time = 10;
            for (std::size_t i = 0; i < genome.size(); i += 2)
              time += std::abs(genome[i] + genome[i + 1] - 9.0) + 0.5 * std::abs(genome[i] - 6.0);
            return time;
          }};
}

double best_of(const std::string& name, const Landscape& landscape, std::uint64_t seed, int trials,
               int batch) {
  const auto strategy = make_strategy(name, {.space = landscape.space, .seed = seed});
  double best = INFINITY;
  std::uint64_t number = 0;
  while (static_cast<int>(number) < trials) {
    const auto proposals = strategy->ask(std::min(batch, trials - static_cast<int>(number)));
    if (proposals.empty()) break;
    for (const Proposal& proposal : proposals) {
      const auto time = landscape.time(landscape.space.genome(proposal.config));
      best = std::min(best, time.value_or(INFINITY));
      strategy->tell({++number, proposal.config, time.has_value(), time, 1});
    }
  }
  return best;
}

const char* const kSearching[] = {"genetic", "simulated_annealing", "ils",
                                  "differential_evolution"};

}  // namespace

TEST_CASE("each textbook strategy clearly beats random, alone and in batches") {
  constexpr int kSeeds = 40;
  for (const Landscape& landscape : {rippled(), paired()}) {
    for (const char* name : kSearching) {
      for (const int batch : {1, 16}) {
        int wins = 0;
        int losses = 0;
        for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
          const double own = best_of(name, landscape, seed, 200, batch);
          const double random = best_of("random", landscape, seed, 200, batch);
          wins += own < random;
          losses += own > random;
        }
        CAPTURE(std::string(name));
        CAPTURE(landscape.space.parts().name);
        CAPTURE(batch);
        CAPTURE(wins);
        CAPTURE(losses);
        CHECK(wins >= 4 * losses);
        CHECK(wins >= kSeeds / 2);
      }
    }
  }
}

TEST_CASE("where nearly everything fails, a strategy still goes on and has no parent that failed") {
  const Landscape landscape = paired();
  for (const char* name : kSearching) {
    CAPTURE(std::string(name));
    const auto strategy = make_strategy(name, {.space = landscape.space, .seed = 2});
    std::set<std::uint64_t> failed;
    for (std::uint64_t number = 1; number <= 300; ++number) {
      const auto proposals = strategy->ask(1);
      REQUIRE(proposals.size() == 1);
      for (const std::uint64_t parent : proposals.front().parents)
        CHECK_FALSE(failed.contains(parent));
      const bool passed = number % 10 == 0;
      if (!passed) failed.insert(number);
      strategy->tell({number, proposals.front().config, passed,
                      passed ? std::optional(static_cast<double>(number)) : std::nullopt, 1});
    }
  }
}

TEST_CASE(
    "exhaustive goes through a space in its order, presets first, and refuses an endless one") {
  SpaceParts parts;
  parts.name = "line";
  parts.parameters.push_back({"A", range(0, 9), {}, {}});
  parts.presets.push_back({"start", Config({{"A", 4}}), {}});
  const Space line = Space::build(std::move(parts));
  const auto strategy = make_strategy("exhaustive", {.space = line});
  std::string order;
  for (const Proposal& proposal : strategy->ask(20))
    order += fa_tune::to_text(*proposal.config.find("A"));
  CHECK(order == "4012356789");

  SpaceParts endless;
  endless.name = "endless";
  for (int i = 0; i < 30; ++i)
    endless.parameters.push_back({"P" + std::to_string(i), range(0, 9), {}, {}});
  const Space huge = Space::build(std::move(endless));
  CHECK_FALSE(huge.exact());
  CHECK_THROWS_AS(make_strategy("exhaustive", {.space = huge}), UserError);
  for (const char* name : kSearching) {
    const auto search = make_strategy(name, {.space = huge, .seed = 1});
    for (std::uint64_t number = 1; number <= 60; ++number) {
      const auto proposals = search->ask(1);
      REQUIRE(proposals.size() == 1);
      search->tell({number, proposals.front().config, true, static_cast<double>(number), 1});
    }
  }
}

}  // namespace fa_tune::test
