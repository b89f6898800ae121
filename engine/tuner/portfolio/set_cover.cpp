#include "engine/tuner/portfolio/set_cover.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace fa_tune::tuner {
namespace {

using Kernels = std::vector<std::size_t>;

class CoverSearch {
 public:
  CoverSearch(const Costs& costs, std::size_t most_steps)
      : costs_(costs), shapes_(costs.empty() ? 0 : costs[0].size()), steps_left_(most_steps) {
    for (std::size_t shape = 0; shape < shapes_; ++shape) {
      serving_.emplace_back();
      for (std::size_t kernel = 0; kernel < costs_.size(); ++kernel)
        if (costs_[kernel][shape]) serving_.back().push_back(kernel);
      if (serving_.back().empty()) throw std::logic_error("a shape that no kernel serves");
    }
  }

  SetCover run() {
    best_ = greedy();
    best_cost_ = cost_of(best_);
    Kernels chosen;
    const std::size_t least = shapes_apart(std::vector<bool>(shapes_, false));
    branch(chosen);
    SetCover cover{.kernels = best_, .serving = {}, .at_least = gave_up_ ? least : best_.size()};
    std::ranges::sort(cover.kernels);
    for (std::size_t shape = 0; shape < shapes_; ++shape)
      cover.serving.push_back(cheapest(cover.kernels, shape));
    return cover;
  }

 private:
  std::vector<bool> served_by(const Kernels& kernels) const {
    std::vector<bool> served(shapes_, false);
    for (const std::size_t kernel : kernels)
      for (std::size_t shape = 0; shape < shapes_; ++shape)
        if (costs_[kernel][shape]) served[shape] = true;
    return served;
  }

  std::size_t cheapest(const Kernels& kernels, std::size_t shape) const {
    std::size_t found = costs_.size();
    for (const std::size_t kernel : kernels)
      if (costs_[kernel][shape] &&
          (found == costs_.size() || *costs_[kernel][shape] < *costs_[found][shape]))
        found = kernel;
    return found;
  }

  double cost_of(const Kernels& kernels) const {
    double sum = 0;
    for (std::size_t shape = 0; shape < shapes_; ++shape)
      sum += *costs_[cheapest(kernels, shape)][shape];
    return sum;
  }

  // The kernel that serves most of what is left, again and again.
  Kernels greedy() const {
    Kernels chosen;
    for (auto served = served_by({}); std::ranges::count(served, false) > 0;
         served = served_by(chosen)) {
      std::size_t best = 0, most = 0;
      for (std::size_t kernel = 0; kernel < costs_.size(); ++kernel) {
        std::size_t gained = 0;
        for (std::size_t shape = 0; shape < shapes_; ++shape)
          gained += !served[shape] && costs_[kernel][shape] ? 1 : 0;
        if (gained > most) best = kernel, most = gained;
      }
      chosen.push_back(best);
    }
    return chosen;
  }

  // Shapes of which no two have a kernel in common: each needs one of its own.
  std::size_t shapes_apart(const std::vector<bool>& served) const {
    std::vector<bool> taken(costs_.size(), false);
    std::size_t apart = 0;
    for (std::size_t shape = 0; shape < shapes_; ++shape) {
      if (served[shape] || std::ranges::any_of(serving_[shape], [&](auto k) { return taken[k]; }))
        continue;
      for (const std::size_t kernel : serving_[shape]) taken[kernel] = true;
      ++apart;
    }
    return apart;
  }

  void branch(Kernels& chosen) {
    if (steps_left_ == 0) {
      gave_up_ = true;
      return;
    }
    --steps_left_;
    const std::vector<bool> served = served_by(chosen);
    std::size_t next = shapes_;
    for (std::size_t shape = 0; shape < shapes_; ++shape)
      if (!served[shape] && (next == shapes_ || serving_[shape].size() < serving_[next].size()))
        next = shape;
    if (next == shapes_) return keep(chosen);
    if (chosen.size() + shapes_apart(served) > best_.size()) return;
    for (const std::size_t kernel : serving_[next]) {
      chosen.push_back(kernel);
      branch(chosen);
      chosen.pop_back();
    }
  }

  void keep(const Kernels& chosen) {
    const double cost = cost_of(chosen);
    if (chosen.size() > best_.size() || (chosen.size() == best_.size() && cost >= best_cost_))
      return;
    best_ = chosen;
    best_cost_ = cost;
  }

  const Costs& costs_;
  std::size_t shapes_;
  std::size_t steps_left_;
  bool gave_up_ = false;
  std::vector<Kernels> serving_;  // of each shape, all kernels that do
  Kernels best_;
  double best_cost_ = std::numeric_limits<double>::infinity();
};

}  // namespace

SetCover fewest_cover(const Costs& costs, std::size_t most_steps) {
  return CoverSearch(costs, most_steps).run();
}

}  // namespace fa_tune::tuner
