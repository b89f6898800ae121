#include "engine/tuner/portfolio/decision_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>

namespace fa_tune::tuner {
namespace {

using exports::DispatchTree;
using exports::Split;
using Members = std::vector<std::size_t>;  // shapes, ascending

// What it counts where a leaf's kernel does not serve a shape: more than any time does.
constexpr double kNotServed = 10;
// Less than this, in logarithms, is no difference.
constexpr double kEqual = 1e-9;
// A tree has more leaves only if they save so much of the mean regret: 0.1%.
constexpr double kHair = 0.001;
constexpr std::size_t kMostLevels = 3;
// Trees that the search looks at, roughly.
constexpr double kMostTrees = 100'000;

struct Subtree {
  double regret = 0;
  std::size_t kernel = 0;
  Split split = {};
  std::shared_ptr<const Subtree> then = nullptr, otherwise = nullptr;
};
using Choices = std::vector<std::shared_ptr<const Subtree>>;  // of 1, 2, ... leaves; may be nothing

struct Parted {
  Split split;
  Members then, otherwise;
};

class TreeSearch {
 public:
  explicit TreeSearch(const TrainingSet& training) : training_(training) {}

  Choices run() {
    Members all(training_.shapes.size());
    std::iota(all.begin(), all.end(), 0);
    const auto splits = static_cast<double>(partitions(all).size());
    std::size_t levels = kMostLevels;
    while (levels > 1 && std::pow(splits, static_cast<double>(levels)) > kMostTrees) --levels;
    return solve(all, levels);
  }

 private:
  Choices solve(const Members& members, std::size_t levels) {
    if (const auto known = solved_.find({levels, members}); known != solved_.end())
      return known->second;
    Choices best = {leaf(members)};
    if (levels > 0 && members.size() > 1 && best[0]->regret > kEqual) {
      best.resize(std::size_t{1} << levels);
      for (const Parted& parted : partitions(members)) {
        const Choices then = solve(parted.then, levels - 1);
        const Choices otherwise = solve(parted.otherwise, levels - 1);
        for (std::size_t i = 0; i < then.size(); ++i)
          for (std::size_t j = 0; j < otherwise.size(); ++j)
            take(best[i + j + 1], parted.split, then[i], otherwise[j]);
      }
    }
    return solved_.emplace(std::pair(levels, members), best).first->second;
  }

  static void take(std::shared_ptr<const Subtree>& best, const Split& split,
                   const std::shared_ptr<const Subtree>& then,
                   const std::shared_ptr<const Subtree>& otherwise) {
    if (!then || !otherwise) return;
    const double regret = then->regret + otherwise->regret;
    if (best && regret > best->regret - kEqual) return;
    best = std::make_shared<const Subtree>(Subtree{regret, 0, split, then, otherwise});
  }

  std::shared_ptr<const Subtree> leaf(const Members& members) const {
    Subtree best;
    for (std::size_t kernel = 0; kernel < training_.regret.size(); ++kernel) {
      double regret = 0;
      for (const std::size_t shape : members)
        regret += training_.regret[kernel][shape].value_or(kNotServed);
      if (kernel == 0 || regret < best.regret - kEqual) best = {.regret = regret, .kernel = kernel};
    }
    return std::make_shared<const Subtree>(best);
  }

  // In a fixed order; of splits that part the shapes alike the first.
  std::vector<Parted> partitions(const Members& members) const {
    std::vector<Parted> found;
    std::set<Members> seen;
    const auto add = [&](const Split& split) {
      Parted parted{split, {}, {}};
      for (const std::size_t shape : members)
        (split.holds(training_.shapes[shape]) ? parted.then : parted.otherwise).push_back(shape);
      if (parted.then.empty() || parted.otherwise.empty() || seen.contains(parted.then)) return;
      seen.insert(parted.then);
      seen.insert(parted.otherwise);
      found.push_back(std::move(parted));
    };
    for (const std::string& name : training_.categories) {
      std::set<Value> values;
      for (const std::size_t shape : members) values.insert(training_.shapes[shape].at(name));
      for (const Value& value : values) add({.product = {name}, .equality = true, .value = value});
    }
    for (const std::vector<std::string>& product : training_.products) {
      std::set<std::int64_t> values;
      for (const std::size_t shape : members) {
        std::int64_t value = 1;
        for (const std::string& name : product) value *= integer(training_.shapes[shape], name);
        values.insert(value);
      }
      for (auto low = values.begin(); low != values.end() && std::next(low) != values.end(); ++low)
        add({.product = product, .below = readable_threshold(*low, *std::next(low))});
    }
    return found;
  }

  const TrainingSet& training_;
  std::map<std::pair<std::size_t, Members>, Choices> solved_;
};

std::size_t add_nodes(const Subtree& subtree, DispatchTree& tree) {
  const std::size_t at = tree.nodes.size();
  tree.nodes.push_back({.choice = subtree.kernel, .split = subtree.split});
  if (subtree.then != nullptr) {
    const std::size_t then = add_nodes(*subtree.then, tree);
    const std::size_t otherwise = add_nodes(*subtree.otherwise, tree);
    tree.nodes[at].then = then;
    tree.nodes[at].otherwise = otherwise;
  }
  return at;
}

std::vector<DispatchTree::Range> ranges_of(const TrainingSet& training) {
  std::vector<DispatchTree::Range> ranges;
  for (const std::string& size : training.sizes) {
    DispatchTree::Range range{size, INT64_MAX, INT64_MIN};
    for (const Constants& shape : training.shapes) {
      range.least = std::min(range.least, integer(shape, size));
      range.most = std::max(range.most, integer(shape, size));
    }
    ranges.push_back(range);
  }
  return ranges;
}

TrainingSet without(const TrainingSet& training, std::size_t shape) {
  TrainingSet rest = training;
  const auto at = static_cast<std::ptrdiff_t>(shape);
  rest.shapes.erase(rest.shapes.begin() + at);
  for (auto& row : rest.regret) row.erase(row.begin() + at);
  return rest;
}

// What a tree that does not know the shape costs there: by its leaf, or by the most robust kernel
// that serves it.
double regret_at(const DispatchTree& tree, const TrainingSet& training, std::size_t shape) {
  std::vector<std::size_t> asked = {tree.leaf_of(training.shapes[shape])};
  asked.insert(asked.end(), tree.robust.begin(), tree.robust.end());
  for (const std::size_t kernel : asked)
    if (const auto regret = training.regret[kernel][shape]) return *regret;
  throw std::logic_error("a shape that no kernel serves");
}

}  // namespace

std::int64_t readable_threshold(std::int64_t low, std::int64_t high) {
  const double middle = std::sqrt(static_cast<double>(low) * static_cast<double>(high));
  std::int64_t unit = 1;
  while (10.0 * static_cast<double>(unit) <= middle) unit *= 10;
  for (; unit >= 1; unit /= 10) {
    const std::int64_t rounded = std::llround(middle / static_cast<double>(unit)) * unit;
    if (low < rounded && rounded <= high) return rounded;
  }
  return high;
}

std::vector<std::size_t> by_robustness(const Costs& regret) {
  using Rank = std::tuple<std::size_t, double, double, std::size_t>;
  std::vector<Rank> ranks;
  for (std::size_t kernel = 0; kernel < regret.size(); ++kernel) {
    Rank rank{0, 0, 0, kernel};
    for (const auto& each : regret[kernel]) {
      if (!each) ++std::get<0>(rank);
      std::get<1>(rank) = std::max(std::get<1>(rank), each.value_or(0));
      std::get<2>(rank) += each.value_or(0);
    }
    ranks.push_back(rank);
  }
  std::ranges::sort(ranks);
  std::vector<std::size_t> order;
  for (const Rank& rank : ranks) order.push_back(std::get<3>(rank));
  return order;
}

std::vector<DispatchTree> best_trees(const TrainingSet& training) {
  std::vector<DispatchTree> trees;
  double best = std::numeric_limits<double>::infinity();
  for (const auto& subtree : TreeSearch(training).run()) {
    if (!subtree || subtree->regret > best - kEqual) continue;
    best = subtree->regret;
    DispatchTree tree;
    tree.nodes.clear();
    add_nodes(*subtree, tree);
    tree.ranges = ranges_of(training);
    tree.robust = by_robustness(training.regret);
    trees.push_back(std::move(tree));
  }
  return trees;
}

LearnedTree learn_tree(const TrainingSet& training) {
  const std::vector<DispatchTree> trees = best_trees(training);
  LearnedTree learned{trees.front(), {}};
  const std::size_t shapes = training.shapes.size();
  if (shapes < 2) return learned;
  learned.left_out.assign(trees.back().leaves(), std::vector<double>(shapes, 0));
  for (std::size_t shape = 0; shape < shapes; ++shape) {
    const std::vector<DispatchTree> others = best_trees(without(training, shape));
    for (std::size_t leaves = 1; leaves <= learned.left_out.size(); ++leaves) {
      // The largest that is not larger.
      const DispatchTree* tree = &others.front();
      for (const DispatchTree& other : others)
        if (other.leaves() <= leaves) tree = &other;
      learned.left_out[leaves - 1][shape] = regret_at(*tree, training, shape);
    }
  }
  const auto mean_of = [&](const DispatchTree& tree) {
    const std::vector<double>& regrets = learned.left_out[tree.leaves() - 1];
    return std::accumulate(regrets.begin(), regrets.end(), 0.0) / static_cast<double>(shapes);
  };
  double least = mean_of(trees.front());
  for (const DispatchTree& tree : trees) least = std::min(least, mean_of(tree));
  learned.tree = *std::ranges::find_if(
      trees, [&](const auto& tree) { return mean_of(tree) <= least + kHair; });
  return learned;
}

}  // namespace fa_tune::tuner
