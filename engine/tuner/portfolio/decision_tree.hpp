#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/export/dispatch.hpp"
#include "engine/tuner/portfolio/set_cover.hpp"

namespace fa_tune::tuner {

// What a tree is learned from. The regret of a kernel at a shape is the logarithm of its time over
// that of the best there; nothing where it does not serve the shape.
struct TrainingSet {
  std::vector<Constants> shapes;                   // complete
  Costs regret;                                    // [kernel][shape]
  std::vector<std::string> sizes;                  // that a shape never seen may have anew
  std::vector<std::vector<std::string>> products;  // of sizes, that are asked about
  std::vector<std::string> categories;             // members that are asked for equality
};

// The trees with the least regret in all, of 1, 2, ... leaves: by exact search of three levels, of
// two where there are many splits. A tree that is no better than one of fewer leaves is left out.
// Of trees with equal regret the first wins, in the order of categories, products and thresholds.
// A leaf's kernel may not serve a shape where no small tree has one for each.
std::vector<exports::DispatchTree> best_trees(const TrainingSet& training);

// A number above `low` and not above `high`, near their geometric mean, with few digits.
std::int64_t readable_threshold(std::int64_t low, std::int64_t high);

// The kernels, those first that are never far behind: by how many shapes they do not serve, then by
// their worst regret.
std::vector<std::size_t> by_robustness(const Costs& regret);

struct LearnedTree {
  exports::DispatchTree tree;
  // For trees of 1, 2, ... leaves: the regret at each shape of the tree that was learned from
  // all other shapes. None where there is one shape.
  std::vector<std::vector<double>> left_out;
};

// As many leaves as give the least mean regret at the shapes that are left out, or fewer if that is
// a hair worse. Throws std::logic_error if some shape has no kernel.
LearnedTree learn_tree(const TrainingSet& training);

}  // namespace fa_tune::tuner
