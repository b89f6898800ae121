#include "engine/search/surrogate/surrogate.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "engine/search/catalog/make_strategy.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::test {

using namespace fa_tune::search;
using namespace fa_tune::space;

namespace {

// Sizes as of tiles, and what no constraint of the space says: their product must fit somewhere.
Space tiles() {
  SpaceParts parts;
  parts.name = "tiles";
  for (const char* name : {"ROWS", "COLUMNS", "STAGES", "UNROLL"}) {
    Parameter parameter{name, {}, {}, {}};
    for (std::int64_t value = 1; value <= 128; value *= 2) parameter.values.emplace_back(value);
    parts.parameters.push_back(parameter);
  }
  return Space::build(std::move(parts));
}

std::int64_t value_of(const Config& config, const char* name) {
  return std::get<std::int64_t>(*config.find(name));
}

// About a third fit.
bool fits(const Config& config) {
  return value_of(config, "ROWS") * value_of(config, "COLUMNS") * value_of(config, "STAGES") <= 256;
}

std::optional<double> time_of(const Config& config) {
  if (!fits(config)) return std::nullopt;
  return 10 + 1000.0 / static_cast<double>(value_of(config, "ROWS") * value_of(config, "COLUMNS")) +
         static_cast<double>(value_of(config, "UNROLL"));
}

struct Found {
  int right = 0;
  double best = INFINITY;
};

Found search(const Space& space, const std::string& spec, std::uint64_t seed, int trials) {
  const auto strategy = make_strategy(spec, {.space = space, .seed = seed});
  Found found;
  for (int number = 1; number <= trials; ++number) {
    const auto proposals = strategy->ask(1);
    const auto time = time_of(proposals.front().config);
    found.right += time.has_value();
    if (time) found.best = std::min(found.best, *time);
    strategy->tell(
        {static_cast<std::uint64_t>(number), proposals.front().config, time.has_value(), time, 1});
  }
  return found;
}

}  // namespace

TEST_CASE("a surrogate learns which configs fail, from the trials alone") {
  const Space space = tiles();
  Surrogate surrogate(space, {}, true, 1), blind(space, {}, false, 1);
  Random random(2);
  CHECK(surrogate.chance(surrogate.site(space.genome_at(0))) == 1);
  for (int trial = 0; trial < 80; ++trial) {
    const Genome genome = space.sample_genome(random);
    surrogate.tell(genome, time_of(space.config(genome)));
    blind.tell(genome, time_of(space.config(genome)));
  }
  surrogate.update();
  blind.update();
  CHECK(surrogate.doubtful());
  CHECK_FALSE(blind.doubtful());

  int wrong_side = 0, fitting = 0;
  constexpr int asked = 500;
  for (int i = 0; i < asked; ++i) {
    const Genome genome = space.sample_genome(random);
    const double chance = surrogate.chance(surrogate.site(genome));
    CHECK(chance >= 0);
    CHECK(chance <= 1);
    const bool fit = fits(space.config(genome));
    wrong_side += (chance > 0.5) != fit;
    fitting += fit;
    CHECK(blind.chance(blind.site(genome)) == 1);
  }
  // To say 'fails' always would be wrong about every one that fits.
  CHECK(wrong_side < fitting / 2);
}

TEST_CASE("where most configs fail, evolve spends its trials on those that are not") {
  const Space space = tiles();
  int right = 0, right_blind = 0, wins = 0, losses = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Found with = search(space, "evolve", seed, 60);
    const Found without = search(space, "evolve:feasibility=off", seed, 60);
    right += with.right;
    right_blind += without.right;
    wins += with.best < without.best;
    losses += with.best > without.best;
  }
  CHECK(right > right_blind);
  CHECK(wins >= losses);
}

}  // namespace fa_tune::test
