#include "engine/tuner/portfolio/kernel_times.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace fa_tune::tuner {
namespace {

using exports::QueueAtShape;

// Blocks of an SM at once, and what a tile costs beside its steps, over the mean steps of a tile.
constexpr std::int64_t kBlocksOfAnSm[] = {1, 2, 3, 4, 6, 8, 16};
constexpr double kOverheads[] = {0, 1. / 64, 1. / 32, 1. / 16, 1. / 8, 1. / 4, 1. / 2, 1, 2};
// Before a kernel is timed its times are taken to be so far off, and that is worth so many shapes.
constexpr double kDoubtBefore = 0.1;
constexpr double kShapesBefore = 2;
constexpr double kParametersOfFit = 4;

}  // namespace

KernelTimes::KernelTimes(const std::vector<std::vector<QueueAtShape>>& queues,
                         std::vector<double> us, std::int64_t sms, std::int64_t cluster)
    : us_(std::move(us)) {
  double steps = 0, tiles = 0;
  for (const auto& of_shape : queues)
    for (const QueueAtShape& queue : of_shape) {
      tiles += static_cast<double>(queue.steps.size());
      for (const std::int64_t each : queue.steps) steps += static_cast<double>(each);
    }
  for (const double each : kOverheads)
    overheads_.push_back(std::llround(16 * each * steps / tiles));
  for (const std::int64_t each : kBlocksOfAnSm)
    slots_.push_back(std::max<std::int64_t>(1, sms * each / std::max<std::int64_t>(cluster, 1)));
  for (const std::int64_t slots : slots_) {
    auto& of_slots = lengths_.emplace_back();
    for (const std::int64_t overhead : overheads_) {
      auto& row = of_slots.emplace_back();
      for (const auto& of_shape : queues) {
        std::int64_t length = 0;
        for (const QueueAtShape& queue : of_shape) length += queue.longest(slots, overhead);
        row.push_back(static_cast<double>(length) / 16);
      }
    }
  }
}

KernelTimes::Fit KernelTimes::fit(const std::vector<std::size_t>& shapes) const {
  Fit best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t slots = 0; slots < slots_.size(); ++slots)
    for (std::size_t overhead = 0; overhead < overheads_.size(); ++overhead) {
      const std::vector<double>& length = lengths_[slots][overhead];
      // Sums over the shapes of products of 1/us, length/us and 1.
      double ff = 0, fs = 0, ss = 0, f1 = 0, s1 = 0;
      for (const std::size_t shape : shapes) {
        const double f = 1 / us_[shape], s = length[shape] / us_[shape];
        ff += f * f, fs += f * s, ss += s * s, f1 += f, s1 += s;
      }
      const double determinant = ff * ss - fs * fs;
      Fit fit{slots, overhead, 0, 0};
      if (determinant > 1e-9 * ff * ss) {
        fit.fixed_us = (f1 * ss - s1 * fs) / determinant;
        fit.step_us = (ff * s1 - fs * f1) / determinant;
      }
      if (fit.step_us <= 0 || fit.fixed_us < 0) {  // neither is below 0
        const bool steps = ss > 0 && s1 * s1 / ss >= f1 * f1 / ff;
        fit.fixed_us = steps ? 0 : f1 / ff;
        fit.step_us = steps ? s1 / ss : 0;
      }
      double error = 0;
      for (const std::size_t shape : shapes)
        error += std::pow((fit.fixed_us + fit.step_us * length[shape]) / us_[shape] - 1, 2);
      if (error < least - 1e-9) {
        least = error;
        best = fit;
      }
    }
  const double free = std::max(static_cast<double>(shapes.size()) - kParametersOfFit, 0.0);
  best.doubt =
      std::sqrt((least + kShapesBefore * kDoubtBefore * kDoubtBefore) / (free + kShapesBefore));
  return best;
}

double KernelTimes::cautious_us(const Fit& fit, std::size_t shape) const {
  return fit.cautious_us(lengths_[fit.slots][fit.overhead][shape]);
}

double KernelTimes::longest(const Fit& fit, const std::vector<QueueAtShape>& queues) const {
  std::int64_t length = 0;
  for (const QueueAtShape& queue : queues)
    length += queue.longest(slots_[fit.slots], overheads_[fit.overhead]);
  return static_cast<double>(length) / 16;
}

void KernelTimes::write(const Fit& fit, exports::KernelCost& cost) const {
  cost.slots = slots_[fit.slots];
  cost.overhead = overheads_[fit.overhead];
  cost.fixed_us = (1 + fit.doubt) * fit.fixed_us;
  cost.step_us = (1 + fit.doubt) * fit.step_us;
}

}  // namespace fa_tune::tuner
