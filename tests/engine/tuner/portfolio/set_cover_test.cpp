#include "engine/tuner/portfolio/set_cover.hpp"

#include <algorithm>
#include <stdexcept>

#include <doctest/doctest.h>

#include "engine/util/random.hpp"

namespace fa_tune::test {

using namespace fa_tune::tuner;

namespace {

constexpr std::optional<double> kNone = std::nullopt;

bool serves_all(const Costs& costs, const std::vector<std::size_t>& kernels) {
  for (std::size_t shape = 0; shape < costs[0].size(); ++shape)
    if (std::ranges::none_of(kernels, [&](auto k) { return costs[k][shape].has_value(); }))
      return false;
  return true;
}

// By trying every set.
std::size_t fewest_by_hand(const Costs& costs) {
  std::size_t fewest = costs.size();
  for (std::size_t set = 1; set < std::size_t{1} << costs.size(); ++set) {
    std::vector<std::size_t> kernels;
    for (std::size_t kernel = 0; kernel < costs.size(); ++kernel)
      if (set >> kernel & 1U) kernels.push_back(kernel);
    if (kernels.size() < fewest && serves_all(costs, kernels)) fewest = kernels.size();
  }
  return fewest;
}

Costs random_costs(std::size_t kernels, std::size_t shapes, std::uint64_t seed) {
  Random random(seed);
  Costs costs(kernels, std::vector<std::optional<double>>(shapes));
  for (std::size_t shape = 0; shape < shapes; ++shape) {
    for (auto& row : costs)
      if (random.below(4) == 0) row[shape] = random.uniform();
    costs[random.below(kernels)][shape] = 0;
  }
  return costs;
}

}  // namespace

TEST_CASE("cover: the greedy choice is not the fewest, and the fewest is found") {
  // The first serves most, but the other two serve all.
  const Costs costs = {{kNone, 0., 0., 0., 0., kNone},
                       {0., 0., 0., kNone, kNone, kNone},
                       {kNone, kNone, kNone, 0., 0., 0.}};
  const SetCover cover = fewest_cover(costs);
  CHECK(cover.kernels == std::vector<std::size_t>{1, 2});
  CHECK(cover.serving == std::vector<std::size_t>{1, 1, 1, 2, 2, 2});
  CHECK(cover.fewest());
}

TEST_CASE("cover: of equally many the cheaper") {
  const Costs costs = {{0.02, 0.02}, {0.0, 0.01}, {0.01, 0.01}};
  CHECK(fewest_cover(costs).kernels == std::vector<std::size_t>{1});
}

TEST_CASE("cover: as few as trying every set finds") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Costs costs = random_costs(10, 12, seed);
    const SetCover cover = fewest_cover(costs);
    CAPTURE(seed);
    CHECK(serves_all(costs, cover.kernels));
    CHECK(cover.kernels.size() == fewest_by_hand(costs));
    CHECK(cover.fewest());
    for (std::size_t shape = 0; shape < costs[0].size(); ++shape)
      for (const std::size_t kernel : cover.kernels)
        if (costs[kernel][shape])
          CHECK(*costs[cover.serving[shape]][shape] <= *costs[kernel][shape]);
  }
}

TEST_CASE("cover: given up, it says how few there could be") {
  const Costs costs = random_costs(40, 60, 1);
  const SetCover hasty = fewest_cover(costs, 1);
  CHECK(serves_all(costs, hasty.kernels));
  CHECK(hasty.at_least < hasty.kernels.size());
  CHECK_FALSE(hasty.fewest());
  const SetCover patient = fewest_cover(costs, 200'000);
  CHECK(patient.kernels.size() <= hasty.kernels.size());
  CHECK(patient.kernels.size() >= hasty.at_least);
}

TEST_CASE("cover: a shape that nobody serves is a mistake") {
  CHECK_THROWS_AS(fewest_cover({{0., kNone}}), std::logic_error);
  CHECK(fewest_cover({}).kernels.empty());
}

}  // namespace fa_tune::test
