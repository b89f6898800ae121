// The first trials of a search, before anything is told.

#include "engine/search/evolve/spread.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "engine/search/catalog/make_strategy.hpp"
#include "engine/search/strategy.hpp"

namespace fa_tune::test {

using namespace fa_tune::search;
using namespace fa_tune::space;

namespace {

Space grid_of_four() {
  SpaceParts parts;
  parts.name = "grid";
  for (const char* name : {"A", "B", "C", "D"}) {
    Parameter parameter{name, {}, {}, {}};
    for (std::int64_t value = 1; value <= 16; ++value) parameter.values.emplace_back(value);
    parts.parameters.push_back(std::move(parameter));
  }
  return Space::build(std::move(parts));
}

int steps_between(const Genome& a, const Genome& b) {
  int steps = 0;
  for (std::size_t gene = 0; gene < a.size(); ++gene)
    steps += std::abs(static_cast<int>(a[gene]) - static_cast<int>(b[gene]));
  return steps;
}

// Steps from each of the first 16 configs asked for to its nearest, on average.
double mean_nearest(const Space& space, const std::string& strategy, std::uint64_t seed) {
  std::vector<Genome> asked;
  for (const Proposal& proposal : make_strategy(strategy, {.space = space, .seed = seed})->ask(16))
    asked.push_back(space.genome(proposal.config));
  double sum = 0;
  for (const Genome& one : asked) {
    int nearest = 1000;
    for (const Genome& other : asked)
      if (&one != &other) nearest = std::min(nearest, steps_between(one, other));
    sum += nearest;
  }
  return sum / static_cast<double>(asked.size());
}

}  // namespace

TEST_CASE("a config is as far from those taken as from the nearest, around a circle of values") {
  const Space space = grid_of_four();
  Spread spread(space);
  CHECK(std::isinf(spread.nearest({3, 3, 3, 3})));
  spread.take({3, 3, 3, 3});
  CHECK(spread.nearest({3, 3, 3, 3}) == 0);
  CHECK(spread.nearest({3, 3, 3, 4}) == doctest::Approx(0.5 + 1.0 / 16));
  CHECK(spread.nearest({11, 3, 3, 4}) == doctest::Approx(1 + 0.5 + 1.0 / 16));
  // The first value and the last lie beside each other.
  spread.take({0, 0, 0, 0});
  CHECK(spread.nearest({15, 0, 0, 0}) == doctest::Approx(0.5 + 1.0 / 16));
}

TEST_CASE("the first configs of a search are further apart than random ones") {
  const Space space = grid_of_four();
  double spread = 0, random = 0;
  constexpr int kSeeds = 10;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    spread += mean_nearest(space, "evolve", seed) / kSeeds;
    random += mean_nearest(space, "random", seed) / kSeeds;
  }
  MESSAGE(spread, " steps to the nearest, at random ", random);
  CHECK(spread > 1.15 * random);
}

}  // namespace fa_tune::test
