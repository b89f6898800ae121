// Which kernel serves which shape: known tables with known trees.

#include "engine/tuner/portfolio/decision_tree.hpp"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "engine/util/random.hpp"

namespace fa_tune::test {

using namespace fa_tune::exports;
using namespace fa_tune::tuner;

namespace {

// Shapes of one head count and lengths, by kernels whose times follow from the shape.
TrainingSet training_of(const std::vector<std::pair<std::int64_t, std::int64_t>>& shapes,
                        std::size_t kernels, const auto& regret) {
  TrainingSet training{.shapes = {},
                       .regret = {},
                       .sizes = {"H", "L"},
                       .products = {{"H"}, {"L"}, {"H", "L"}},
                       .categories = {"causal"}};
  for (const auto& [H, L] : shapes)
    training.shapes.push_back({{"H", H}, {"L", L}, {"causal", false}});
  training.regret.resize(kernels);
  for (std::size_t kernel = 0; kernel < kernels; ++kernel)
    for (const Constants& shape : training.shapes)
      training.regret[kernel].push_back(regret(kernel, shape));
  return training;
}

// The first is the best below 1000, the second above.
std::optional<double> short_or_long(std::size_t kernel, const Constants& shape) {
  return (integer(shape, "L") < 1000) == (kernel == 0) ? 0 : 0.2;
}

const std::vector<std::pair<std::int64_t, std::int64_t>> kGrid = {
    {8, 256}, {16, 256}, {8, 512}, {16, 512}, {8, 2048}, {16, 2048}, {8, 4096}, {16, 4096}};

double regret_of(const DispatchTree& tree, const TrainingSet& training) {
  double all = 0;
  for (std::size_t shape = 0; shape < training.shapes.size(); ++shape)
    all += training.regret[tree.leaf_of(training.shapes[shape])][shape].value_or(10);
  return all;
}

// The least regret of a tree with two leaves, by trying every threshold of every product.
double best_of_two_by_hand(const TrainingSet& training) {
  const auto leaf = [&](const auto& in) {
    double best = std::numeric_limits<double>::infinity();
    for (const auto& row : training.regret) {
      double all = 0;
      for (std::size_t shape = 0; shape < row.size(); ++shape)
        if (in(shape)) all += row[shape].value_or(10);
      best = std::min(best, all);
    }
    return best;
  };
  double best = leaf([](std::size_t) { return true; });
  for (const auto& product : training.products)
    for (const Constants& each : training.shapes) {
      const auto size = [&](const Constants& shape) {
        std::int64_t all = 1;
        for (const std::string& name : product) all *= integer(shape, name);
        return all;
      };
      const auto below = [&](std::size_t i) { return size(training.shapes[i]) < size(each); };
      best = std::min(best, leaf(below) + leaf([&](std::size_t i) { return !below(i); }));
    }
  return best;
}

}  // namespace

TEST_CASE("decision tree: a known table has its tree") {
  const TrainingSet training = training_of(kGrid, 2, short_or_long);
  const LearnedTree learned = learn_tree(training);
  CHECK(dispatch_text(learned.tree, {"first", "second"}) ==
        "if L < 1000:\n  first\nelse:\n  second\n");
  CHECK(regret_of(learned.tree, training) == doctest::Approx(0));
  REQUIRE(learned.left_out.size() == 2);
  for (const double regret : learned.left_out[1]) CHECK(regret == doctest::Approx(0));
  CHECK(learned.tree.ranges[1].least == 256);
  CHECK(learned.tree.ranges[1].most == 4096);
}

TEST_CASE("decision tree: what decides may be a product") {
  const TrainingSet training = training_of(
      {{1, 512}, {2, 256}, {4, 128}, {32, 128}, {2, 2048}, {1, 4096}}, 2,
      [](std::size_t kernel, const Constants& shape) -> std::optional<double> {
        return (integer(shape, "H") * integer(shape, "L") < 1000) == (kernel == 0) ? 0 : 0.2;
      });
  const std::vector<DispatchTree> trees = best_trees(training);
  REQUIRE(trees.size() == 2);
  CHECK(trees[1].nodes[0].split.product == std::vector<std::string>{"H", "L"});
}

TEST_CASE("decision tree: a category is asked for equality") {
  TrainingSet training = training_of({{8, 512}, {8, 1024}, {8, 512}, {8, 1024}}, 2,
                                     [](std::size_t, const Constants&) { return 0.0; });
  for (const std::size_t shape : {2U, 3U}) training.shapes[shape]["causal"] = true;
  for (std::size_t shape = 0; shape < 4; ++shape) training.regret[shape < 2 ? 1 : 0][shape] = 0.3;
  const LearnedTree learned = learn_tree(training);
  CHECK(dispatch_text(learned.tree, {"first", "second"}) ==
        "if causal == false:\n  first\nelse:\n  second\n");
  Constants other = training.shapes[3];
  other["L"] = std::int64_t{700};
  CHECK(learned.tree.choice(other) == 1);
}

TEST_CASE("decision tree: one shape, one kernel, and nothing to choose by") {
  const LearnedTree alone = learn_tree(training_of({{8, 512}}, 2, short_or_long));
  CHECK(alone.tree.leaves() == 1);
  CHECK(alone.tree.choice({{"H", std::int64_t{8}}, {"L", std::int64_t{512}}}) == 0);
  CHECK(alone.left_out.empty());
  const auto all_alike = [](std::size_t, const Constants&) { return std::optional(0.1); };
  CHECK(learn_tree(training_of(kGrid, 1, all_alike)).tree.leaves() == 1);
  // Of kernels that are as good as another the first.
  const LearnedTree alike = learn_tree(training_of(kGrid, 3, all_alike));
  CHECK(alike.tree.leaves() == 1);
  CHECK(alike.tree.choice(training_of(kGrid, 1, all_alike).shapes[0]) == 0);
}

TEST_CASE("decision tree: of splits that part the shapes alike the first is taken") {
  // Both sizes would do.
  const TrainingSet training =
      training_of({{4, 256}, {8, 512}, {16, 2048}, {32, 4096}}, 2, short_or_long);
  const DispatchTree tree = best_trees(training).back();
  CHECK(tree.nodes[0].split.text() == "H < 10");
  const DispatchTree again = best_trees(training).back();
  CHECK(again.nodes[0].split == tree.nodes[0].split);
}

TEST_CASE("decision tree: a leaf more must be worth it at shapes that are left out") {
  // One odd shape, which says nothing of its neighbours.
  const TrainingSet training = training_of(
      kGrid, 2, [](std::size_t kernel, const Constants& shape) -> std::optional<double> {
        const bool odd = integer(shape, "L") == 512 && integer(shape, "H") == 8;
        return odd == (kernel == 1) ? 0 : 0.2;
      });
  CHECK(best_trees(training).size() > 1);
  CHECK(learn_tree(training).tree.leaves() == 1);
}

TEST_CASE("decision tree: where a kernel does not serve, and where nobody has learned") {
  const TrainingSet training = training_of(
      kGrid, 3, [](std::size_t kernel, const Constants& shape) -> std::optional<double> {
        const bool is_short = integer(shape, "L") < 1000;
        if (kernel == 0) return is_short ? std::optional(0.0) : std::nullopt;
        return kernel == 1 ? 0.5 : 0.3;
      });
  const LearnedTree learned = learn_tree(training);
  CHECK(dispatch_text(learned.tree, {"a", "b", "c"}) == "if L < 1000:\n  a\nelse:\n  c\n");
  // The least of the worst regrets, and those last that do not serve all.
  CHECK(learned.tree.robust == std::vector<std::size_t>{2, 1, 0});
  const Constants longer = {{"H", std::int64_t{8}}, {"L", std::int64_t{8192}}, {"causal", false}};
  CHECK_FALSE(learned.tree.in_ranges(longer));
  CHECK(learned.tree.choice(longer) == 2);
  const Constants within = {{"H", std::int64_t{9}}, {"L", std::int64_t{300}}, {"causal", false}};
  CHECK(learned.tree.preferred(within) == std::vector<std::size_t>{0, 2, 1});
}

TEST_CASE("decision tree: no tree of two leaves is better, for tables drawn at random") {
  Random random(5);
  for (int i = 0; i < 30; ++i) {
    const TrainingSet training =
        training_of(kGrid, 3, [&](std::size_t, const Constants&) -> std::optional<double> {
          return random.below(10) == 0 ? std::nullopt : std::optional(random.uniform());
        });
    double two = regret_of(best_trees(training).front(), training), last = two;
    for (const DispatchTree& tree : best_trees(training)) {
      if (tree.leaves() == 2) two = regret_of(tree, training);
      CHECK(regret_of(tree, training) <= last);
      last = regret_of(tree, training);
    }
    CHECK(two == doctest::Approx(best_of_two_by_hand(training)));
  }
}

TEST_CASE("decision tree: thresholds have few digits") {
  CHECK(readable_threshold(512, 1024) == 700);
  CHECK(readable_threshold(1024, 2048) == 1400);
  CHECK(readable_threshold(8, 16) == 10);
  CHECK(readable_threshold(1, 2) == 2);
  CHECK(readable_threshold(64, 65) == 65);
  CHECK(readable_threshold(1, 1000000) == 1000);
}

}  // namespace fa_tune::test
