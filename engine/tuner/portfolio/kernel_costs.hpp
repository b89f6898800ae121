#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/export/dispatch.hpp"
#include "engine/tuner/portfolio/set_cover.hpp"

namespace fa_tune::tuner {

// What a dispatch is learned from.
struct TrainingSet {
  std::vector<Constants> shapes;      // complete
  std::vector<std::size_t> category;  // of each shape
  std::vector<Constants> categories;  // members that differ among them
  Costs us;                           // [kernel][shape]; nothing where it does not serve the shape
  // Further shapes, at which nothing was timed: the choice is to be good there too, by what the
  // fits say. None is needed.
  struct Untimed {
    Constants shape;
    std::size_t category = 0;
  };
  std::vector<Untimed> untimed;
  std::vector<std::string> sizes;  // that a shape never seen may have anew
  std::int64_t sms = 1;            // of the device
  // [kernel][category]; none where the kernel is not for it.
  std::vector<std::vector<std::vector<exports::QueueFormulas>>> queues;
  std::vector<std::vector<std::int64_t>> cluster;  // the same: blocks
};

// The kernels, those first that are never far behind: by how many shapes they do not serve, then by
// their worst regret.
std::vector<std::size_t> by_robustness(const Costs& regret);

struct LearnedDispatch {
  std::vector<std::size_t> kernels;  // of the training set; a choice is a place here
  exports::Dispatch dispatch;
  // Logarithms of the chosen kernel's time over the best of all, at each shape: though it knows the
  // shape, and by a dispatch that was learned from others. The second is empty where there is one.
  std::vector<double> regrets, left_out;
};

// At most this many kernels, and none that saves less than 0.01% of the time on average.
inline constexpr std::size_t kMostChoices = 32;

// Throws std::logic_error if some shape has no kernel.
LearnedDispatch learn_dispatch(const TrainingSet& training);

}  // namespace fa_tune::tuner
