#include "engine/tuner/portfolio/kernel_times.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace fa_tune::tuner {
namespace {

using exports::QueueAtShape;

// Blocks of an SM at once, and what a tile costs beside its steps, over the mean steps of a tile.
constexpr std::int64_t kBlocksOfAnSm[] = {1, 2, 3, 4, 6, 8, 16};
constexpr double kOverheads[] = {0, 1. / 64, 1. / 32, 1. / 16, 1. / 8, 1. / 4, 1. / 2, 1, 2};
// What is assumed of a kernel before it is timed: an error of 10%, which weighs as much as that of
// two shapes.
constexpr double kDoubtBefore = 0.1;
constexpr double kShapesBefore = 2;
constexpr double kParametersOfFit = 5;

double longest_of(const std::vector<QueueAtShape>& queues, std::int64_t slots,
                  std::int64_t overhead) {
  std::int64_t longest = 0;
  for (const QueueAtShape& queue : queues) longest += queue.longest(slots, overhead);
  return static_cast<double>(longest) / 16;
}

double busiest_of(const std::vector<QueueAtShape>& queues, std::int64_t slots, std::int64_t sms,
                  std::int64_t overhead) {
  std::int64_t busiest = 0;
  for (const QueueAtShape& queue : queues) busiest += queue.busiest(slots, sms, overhead);
  return static_cast<double>(busiest) / 16;
}

// Sums over shapes of products of (1, longest, busiest, 1) / us.
using Sums = std::array<std::array<double, 4>, 3>;

// The factors of some of the three, chosen by the bits of `which`, with least squares of what they
// leave of 1; nothing where they are not told apart, or one is not above 0.
std::optional<std::array<double, 3>> solved(Sums sums, unsigned which) {
  std::array<double, 3> factors = {};
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < 3; ++i)
    if ((which >> i & 1) != 0) members.push_back(i);
  for (std::size_t at = 0; at < members.size(); ++at) {
    const std::size_t i = members[at];
    const double whole = sums[i][i];
    for (std::size_t before = 0; before < at; ++before) {
      const std::size_t j = members[before];
      const double share = sums[i][j] / sums[j][j];
      for (std::size_t column = 0; column < 4; ++column) sums[i][column] -= share * sums[j][column];
    }
    if (!(sums[i][i] > 1e-9 * whole)) return std::nullopt;
  }
  for (std::size_t at = members.size(); at-- > 0;) {
    const std::size_t i = members[at];
    double rest = sums[i][3];
    for (std::size_t behind = at + 1; behind < members.size(); ++behind)
      rest -= sums[i][members[behind]] * factors[members[behind]];
    factors[i] = rest / sums[i][i];
    if (!(factors[i] > 0)) return std::nullopt;
  }
  return factors;
}

}  // namespace

KernelTimes::KernelTimes(const std::vector<std::vector<QueueAtShape>>& queues,
                         std::vector<double> us, std::int64_t sms, std::int64_t cluster)
    : us_(std::move(us)),
      sms_(std::max<std::int64_t>(1, sms / std::max<std::int64_t>(cluster, 1))) {
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
  lengths_.resize(slots_.size());
  for (const std::int64_t overhead : overheads_) {
    for (auto& of_slots : lengths_) of_slots.emplace_back();
    for (const auto& of_shape : queues)
      for (std::size_t slots = 0; slots < slots_.size(); ++slots)
        lengths_[slots].back().push_back({longest_of(of_shape, slots_[slots], overhead),
                                          busiest_of(of_shape, slots_[slots], sms_, overhead)});
  }
}

KernelTimes::Fit KernelTimes::fit(const std::vector<std::size_t>& shapes) const {
  Fit best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t slots = 0; slots < slots_.size(); ++slots)
    for (std::size_t overhead = 0; overhead < overheads_.size(); ++overhead) {
      const std::vector<Lengths>& lengths = lengths_[slots][overhead];
      Sums sums = {};
      for (const std::size_t shape : shapes) {
        const double us = us_[shape];
        const std::array row = {1 / us, lengths[shape].longest / us, lengths[shape].busiest / us,
                                1.0};
        for (std::size_t i = 0; i < 3; ++i)
          for (std::size_t column = 0; column < 4; ++column)
            sums[i][column] += row[i] * row[column];
      }
      for (unsigned which = 1; which < 8; ++which) {
        const auto factors = solved(sums, which);
        if (!factors) continue;
        const Fit fit{slots, overhead, (*factors)[0], (*factors)[1], (*factors)[2], 0};
        double error = 0;
        for (const std::size_t shape : shapes)
          error += std::pow(fit.cautious_us(lengths[shape]) / us_[shape] - 1, 2);
        if (error >= least - 1e-9) continue;
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

KernelTimes::Lengths KernelTimes::lengths(const Fit& fit,
                                          const std::vector<QueueAtShape>& queues) const {
  const std::int64_t overhead = overheads_[fit.overhead];
  const std::int64_t slots = slots_[fit.slots];
  return {longest_of(queues, slots, overhead), busiest_of(queues, slots, sms_, overhead)};
}

void KernelTimes::write(const Fit& fit, exports::KernelCost& cost) const {
  cost.slots = slots_[fit.slots];
  cost.overhead = overheads_[fit.overhead];
  cost.fixed_us = (1 + fit.doubt) * fit.fixed_us;
  cost.step_us = (1 + fit.doubt) * fit.step_us;
  cost.shared_step_us = (1 + fit.doubt) * fit.shared_step_us;
  cost.sms = sms_;
}

}  // namespace fa_tune::tuner
