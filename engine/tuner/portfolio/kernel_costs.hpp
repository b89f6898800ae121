#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/export/dispatch.hpp"
#include "engine/tuner/portfolio/set_cover.hpp"

namespace fa_tune::tuner {

// The times of one kernel at shapes of one category, and how long its queues are there.
class KernelTimes {
 public:
  // At each shape the queues of its launches, and the time. `sms` of the device, `cluster` blocks.
  KernelTimes(const std::vector<std::vector<exports::QueueAtShape>>& queues, std::vector<double> us,
              std::int64_t sms, std::int64_t cluster);

  struct Fit {
    std::size_t slots = 0, overhead = 0;  // of those that were tried
    double fixed_us = 0, step_us = 0;
  };
  // By least squares of relative errors at these shapes, of which there is one at least, for the
  // slots and the overhead that leave the least.
  Fit fit(const std::vector<std::size_t>& shapes) const;
  double us(const Fit& fit, std::size_t shape) const;
  // Into a cost that has its formulas.
  void write(const Fit& fit, exports::KernelCost& cost) const;

 private:
  std::vector<double> us_;
  std::vector<std::int64_t> slots_, overheads_;
  // In steps: of each of `slots_` with each of `overheads_`, at each shape.
  std::vector<std::vector<std::vector<double>>> lengths_;
};

// What a dispatch is learned from.
struct TrainingSet {
  std::vector<Constants> shapes;      // complete
  std::vector<std::size_t> category;  // of each shape
  std::vector<Constants> categories;  // members that differ among them
  Costs us;                           // [kernel][shape]; nothing where it does not serve the shape
  std::vector<std::string> sizes;     // that a shape never seen may have anew
  std::int64_t sms = 1;               // of the device
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

// At most this many kernels, and none that saves less than 0.03% of the time on average.
inline constexpr std::size_t kMostChoices = 16;

// Throws std::logic_error if some shape has no kernel.
LearnedDispatch learn_dispatch(const TrainingSet& training);

}  // namespace fa_tune::tuner
