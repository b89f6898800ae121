#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/export/dispatch.hpp"

namespace fa_tune::tuner {

// The times of one kernel at shapes of one category, and how long its queues are there.
class KernelTimes {
 public:
  // At each shape the queues of its launches, and the time. `sms` of the device, `cluster` blocks.
  KernelTimes(const std::vector<std::vector<exports::QueueAtShape>>& queues, std::vector<double> us,
              std::int64_t sms, std::int64_t cluster);

  struct Lengths {
    double longest = 0, busiest = 0;  // steps: of the longest queue, of the busiest SM
  };
  struct Fit {
    std::size_t slots = 0, overhead = 0;  // of those that were tried
    double fixed_us = 0, step_us = 0, shared_step_us = 0;
    // How far its times may be off at other shapes, as a share of them: a standard error.
    double doubt = 0;

    // The predicted time with its doubt added. Of kernels that seem equally fast this prefers the
    // one that is known best, and of many it does not prefer the one with the luckiest error.
    double cautious_us(const Lengths& steps) const {
      return (1 + doubt) * (fixed_us + step_us * steps.longest + shared_step_us * steps.busiest);
    }
  };
  // By least squares of relative errors at these shapes, of which there is one at least, for the
  // slots and the overhead that leave the least. No part is below 0.
  Fit fit(const std::vector<std::size_t>& shapes) const;
  double cautious_us(const Fit& fit, std::size_t shape) const;
  // Of launches that need not be those of a shape.
  Lengths lengths(const Fit& fit, const std::vector<exports::QueueAtShape>& queues) const;
  // Into a cost that has its formulas, with its doubt in all times.
  void write(const Fit& fit, exports::KernelCost& cost) const;

 private:
  std::vector<double> us_;
  std::vector<std::int64_t> slots_, overheads_;
  std::int64_t sms_;  // or clusters
  // Of each of `slots_` with each of `overheads_`, at each shape.
  std::vector<std::vector<std::vector<Lengths>>> lengths_;
};

}  // namespace fa_tune::tuner
