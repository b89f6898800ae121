#include "engine/search/evolve/niches.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/search/catalog/make_strategy.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::test {

using namespace fa_tune::expression;
using namespace fa_tune::search;
using namespace fa_tune::space;

namespace {

// KIND, with six genes of six values beside it. KIND 3 has no config with A 5.
Space of_kinds() {
  SpaceParts parts;
  parts.name = "kinds";
  for (const std::string name : {"KIND", "A", "B", "C", "E", "F", "G"}) {
    std::vector<Value> values;
    for (std::int64_t value = 0; value < (name == "KIND" ? 4 : 6); ++value)
      values.emplace_back(value);
    parts.parameters.push_back({name, std::move(values), {}, {}});
  }
  parts.constraints.push_back({Expression::parse("KIND != 3 or A != 5"), "", ""});
  return Space::build(std::move(parts));
}

std::int64_t gene_of(const Config& config, const char* gene) {
  return std::get<std::int64_t>(*config.find(gene));
}

// Each kind is fastest with other genes, and a kind takes a tenth more than the one before it but
// the last, which is hopeless.
double us_of_kind(const Config& config) {
  const std::int64_t kind = gene_of(config, "KIND");
  double us = kind == 3 ? 400 : 100 + 10 * static_cast<double>(kind);
  for (const char* gene : {"A", "B", "C", "E", "F", "G"})
    us += 4 * static_cast<double>(std::abs(gene_of(config, gene) - (1 + kind)));
  return us;
}

// By kind: the shortest time that a search has found, in us, and its trials.
struct Kinds {
  std::map<std::int64_t, double> least;
  std::map<std::int64_t, int> trials;
};

Kinds found_by(const std::string& strategy_name, std::uint64_t seed, std::uint64_t trials) {
  const Space space = of_kinds();
  const auto strategy = make_strategy(strategy_name, {.space = space, .seed = seed});
  Kinds found;
  for (std::uint64_t number = 1; number <= trials; ++number) {
    const Proposal asked = strategy->ask(1).at(0);
    const double us = us_of_kind(asked.config);
    const std::int64_t kind = gene_of(asked.config, "KIND");
    ++found.trials[kind];
    const auto [at, fresh] = found.least.emplace(kind, us);
    if (!fresh) at->second = std::min(at->second, us);
    strategy->tell({number, asked.config, true, us, 1});
  }
  return found;
}

}  // namespace

TEST_CASE("niches: the one with the fewest turns is next, unless it stays far behind") {
  const Space space = of_kinds();
  Niches niches(space, "KIND");
  const Genome first(7, 0);
  const auto of = [&](Gene kind) {
    Genome genome = first;
    genome[0] = kind;
    return genome;
  };
  for (const Gene kind : {Gene{0}, Gene{1}, Gene{2}, Gene{3}}) {
    const Niches::Niche* next = niches.next(100);
    REQUIRE(next);
    CHECK(next->turns == 0);
    CHECK(niches.moved(first, *next) == of(kind));
    niches.take(of(kind));
    niches.tell({kind + 1U, of(kind), kind == 3 ? 151.0 : 100.0 + kind});
  }
  // Each has twelve turns, and then the last has none until the best is slower.
  for (int turn = 0; turn < 44; ++turn) niches.pass(*niches.next(100));
  for (int turn = 0; turn < 9; ++turn) {
    const Niches::Niche& next = *niches.next(100);
    CHECK_FALSE(niches.has(next, of(3)));
    niches.pass(next);
  }
  CHECK(niches.has(*niches.next(101), of(3)));
}

TEST_CASE("niches: one in which nothing passes has a few turns") {
  const Space space = of_kinds();
  Niches niches(space, "KIND");
  for (int turn = 0; turn < 12; ++turn) {
    const Niches::Niche* next = niches.next(100);
    REQUIRE(next);
    niches.pass(*next);
  }
  CHECK_FALSE(niches.next(100));
}

TEST_CASE("niches: names that are no genes, and too many values, are told") {
  const Space space = of_kinds();
  const auto refused = [&](const std::string& genes) {
    CHECK_THROWS_AS(make_strategy("evolve:niches=" + genes, {.space = space}), UserError);
  };
  refused("KIND+NONE");
  refused("KIND+KIND");
  refused("A+B+C+E");
  CHECK_NOTHROW(make_strategy("evolve:niches=A+B+C", {.space = space}));
  CHECK(Niches().none());
}

TEST_CASE("evolve: with niches a search ends with a good config of each kind") {
  constexpr int kSeeds = 5;
  double with = 0, without = 0, best = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
    for (const bool niches : {true, false}) {
      const Kinds found = found_by(niches ? "evolve:niches=KIND" : "evolve", seed, 160);
      (niches ? with : without) += found.least.at(2) / kSeeds;
      if (!niches) continue;
      best += found.least.at(0) / kSeeds;
      CHECK(found.trials.at(3) < 30);
      CHECK(found.trials.at(1) > 15);
      CHECK(found.trials.at(2) > 15);
    }
  MESSAGE("the third kind: ", with, " with niches, ", without, " without");
  CHECK(with < 126);
  CHECK(without > with + 5);
  CHECK(best < 104);
}

TEST_CASE("evolve: niches keep what a search promises, without models too") {
  const Space space = of_kinds();
  for (const std::string name : {"evolve:niches=KIND+A", "evolve:niches=KIND,information=free"}) {
    std::vector<Config> asked[2];
    for (auto& those : asked) {
      const auto strategy = make_strategy(name, {.space = space, .seed = 7});
      while (those.size() < 160)
        for (const Proposal& proposal : strategy->ask(8)) {
          REQUIRE_FALSE(space.why_invalid(proposal.config));
          CHECK(std::ranges::find(those, proposal.config) == those.end());
          those.push_back(proposal.config);
          const bool passed = those.size() % 5 != 0;
          strategy->tell({those.size(), proposal.config, passed,
                          passed ? std::optional(us_of_kind(proposal.config)) : std::nullopt, 1});
        }
    }
    CHECK(asked[0] == asked[1]);
  }
  CHECK(found_by("evolve:niches=KIND,information=free", 1, 120).trials.at(2) > 10);
}

}  // namespace fa_tune::test
