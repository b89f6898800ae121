#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace fa_tune::tuner {

// The cost of a kernel at a shape that it serves well enough; nothing where it does not.
using Costs = std::vector<std::vector<std::optional<double>>>;  // [kernel][shape]

struct SetCover {
  std::vector<std::size_t> kernels;  // ascending
  std::vector<std::size_t> serving;  // of each shape, the cheapest of them
  // No cover has fewer kernels. Where this is less than the number of kernels, the search was given
  // up before it had tried everything.
  std::size_t at_least = 0;

  bool fewest() const { return kernels.size() == at_least; }
};

// The fewest kernels that together serve every shape; of several such sets found, the one with the
// least sum of costs. It solves set cover by branch and bound (a shape with few kernels first),
// begins with the greedy answer, and gives up after `most_steps`. Throws std::logic_error if a
// shape has no kernel.
SetCover fewest_cover(const Costs& costs, std::size_t most_steps = 2'000'000);

}  // namespace fa_tune::tuner
