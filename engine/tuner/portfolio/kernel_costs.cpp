#include "engine/tuner/portfolio/kernel_costs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace fa_tune::tuner {
namespace {

using exports::QueueAtShape;

// What it counts where a kernel does not serve a shape: more than any time does.
constexpr double kNotServed = 10;
// A further kernel has to save this much of the mean regret.
constexpr double kHair = 0.0003;
constexpr std::size_t kFolds = 10;
// Blocks of an SM at once, and what a tile costs beside its steps, over the mean steps of a tile.
constexpr std::int64_t kBlocksOfAnSm[] = {1, 2, 3, 4, 6, 8, 16};
constexpr double kOverheads[] = {0, 1. / 64, 1. / 32, 1. / 16, 1. / 8, 1. / 4, 1. / 2, 1, 2};

// The kernels that are learned from some of the shapes, by their predictions.
class Learner {
 public:
  explicit Learner(const TrainingSet& training) : training_(training) {
    const std::size_t shapes = training.shapes.size();
    best_.assign(shapes, std::numeric_limits<double>::infinity());
    for (const auto& row : training.us)
      for (std::size_t shape = 0; shape < shapes; ++shape)
        if (row[shape]) best_[shape] = std::min(best_[shape], *row[shape]);
    for (const double best : best_)
      if (!std::isfinite(best)) throw std::logic_error("a shape that no kernel serves");
    for (std::size_t kernel = 0; kernel < training.us.size(); ++kernel)
      for (std::size_t category = 0; category < training.categories.size(); ++category)
        take(kernel, category);
  }

  struct Learned {
    std::vector<std::size_t> kernels;
    std::vector<std::size_t> robust;  // places of `kernels`, in their order
    std::map<std::pair<std::size_t, std::size_t>, KernelTimes::Fit> fits;  // kernel, category
  };

  Learned learn(const std::vector<bool>& known) const {
    Learned learned;
    for (const auto& [at, place] : places_) {
      std::vector<std::size_t> shapes;
      for (std::size_t i = 0; i < place.shapes.size(); ++i)
        if (known[place.shapes[i]]) shapes.push_back(i);
      if (!shapes.empty()) learned.fits.emplace(at, place.times.fit(shapes));
    }
    choose(known, learned);
    Costs regrets;
    for (const std::size_t kernel : learned.kernels) {
      auto& row = regrets.emplace_back();
      for (std::size_t shape = 0; shape < best_.size(); ++shape)
        if (known[shape]) row.push_back(regret_of(kernel, shape));
    }
    learned.robust = by_robustness(regrets);
    return learned;
  }

  // Of the kernel that they choose there; the most robust one that serves it where none is chosen.
  double regret(const Learned& learned, std::size_t shape) const {
    std::optional<double> best;
    std::size_t chosen = 0;
    for (const std::size_t kernel : learned.kernels) {
      const auto us = predicted(learned, kernel, shape);
      if (!us || (best && *us >= *best)) continue;
      best = us;
      chosen = kernel;
    }
    if (best) return *regret_of(chosen, shape);
    for (const std::size_t place : learned.robust)
      if (const auto regret = regret_of(learned.kernels[place], shape)) return *regret;
    return kNotServed;
  }

  const KernelTimes& times(std::pair<std::size_t, std::size_t> at) const {
    return places_.at(at).times;
  }

 private:
  struct Place {
    std::vector<std::size_t> shapes;  // that the kernel serves
    KernelTimes times;
  };

  void take(std::size_t kernel, std::size_t category) {
    const std::vector<exports::QueueFormulas>& formulas = training_.queues[kernel][category];
    if (formulas.empty()) return;
    std::vector<std::size_t> shapes;
    std::vector<std::vector<QueueAtShape>> queues;
    std::vector<double> us;
    for (std::size_t shape = 0; shape < best_.size(); ++shape) {
      if (training_.category[shape] != category || !training_.us[kernel][shape]) continue;
      std::vector<QueueAtShape> of_shape;
      for (const exports::QueueFormulas& each : formulas)
        if (auto queue = queue_at(each, training_.shapes[shape]))
          of_shape.push_back(std::move(*queue));
      if (of_shape.size() != formulas.size()) continue;
      shapes.push_back(shape);
      queues.push_back(std::move(of_shape));
      us.push_back(*training_.us[kernel][shape]);
    }
    if (shapes.empty()) return;
    for (std::size_t i = 0; i < shapes.size(); ++i) index_[{kernel, shapes[i]}] = i;
    places_.emplace(std::pair(kernel, category),
                    Place{std::move(shapes), KernelTimes(queues, std::move(us), training_.sms,
                                                         training_.cluster[kernel][category])});
  }

  std::optional<double> regret_of(std::size_t kernel, std::size_t shape) const {
    const auto us = training_.us[kernel][shape];
    return us ? std::optional(std::log(*us / best_[shape])) : std::nullopt;
  }

  // Nothing where the kernel did not serve the shape, as where it cannot be launched.
  std::optional<double> predicted(const Learned& learned, std::size_t kernel,
                                  std::size_t shape) const {
    const std::pair at(kernel, training_.category[shape]);
    const auto fit = learned.fits.find(at);
    const auto index = index_.find({kernel, shape});
    if (fit == learned.fits.end() || index == index_.end()) return std::nullopt;
    return places_.at(at).times.us(fit->second, index->second);
  }

  // One more at a time, the one that saves most.
  void choose(const std::vector<bool>& known, Learned& learned) const {
    const std::size_t shapes = best_.size();
    std::vector<std::vector<std::optional<double>>> us(training_.us.size());
    for (std::size_t kernel = 0; kernel < us.size(); ++kernel)
      for (std::size_t shape = 0; shape < shapes; ++shape)
        us[kernel].push_back(predicted(learned, kernel, shape));
    std::vector<std::optional<double>> least(shapes);  // predicted, of those that are chosen
    std::vector<double> regrets(shapes, kNotServed);
    const auto chosen_count = static_cast<double>(std::ranges::count(known, true));
    while (learned.kernels.size() < kMostChoices) {
      double most_saved = kHair * chosen_count;
      std::optional<std::size_t> next;
      for (std::size_t kernel = 0; kernel < us.size(); ++kernel) {
        double saved = 0;
        for (std::size_t shape = 0; shape < shapes; ++shape)
          if (known[shape] && us[kernel][shape] &&
              (!least[shape] || *us[kernel][shape] < *least[shape]))
            saved += regrets[shape] - *regret_of(kernel, shape);
        if (saved <= most_saved) continue;
        most_saved = saved;
        next = kernel;
      }
      if (!next) break;
      learned.kernels.push_back(*next);
      for (std::size_t shape = 0; shape < shapes; ++shape)
        if (us[*next][shape] && (!least[shape] || *us[*next][shape] < *least[shape])) {
          least[shape] = us[*next][shape];
          regrets[shape] = *regret_of(*next, shape);
        }
    }
  }

  const TrainingSet& training_;
  std::vector<double> best_;                                     // us, of each shape
  std::map<std::pair<std::size_t, std::size_t>, Place> places_;  // kernel, category
  std::map<std::pair<std::size_t, std::size_t>, std::size_t>
      index_;  // kernel, shape: in Place::shapes
};

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
  return best;
}

double KernelTimes::us(const Fit& fit, std::size_t shape) const {
  return fit.fixed_us + fit.step_us * lengths_[fit.slots][fit.overhead][shape];
}

void KernelTimes::write(const Fit& fit, exports::KernelCost& cost) const {
  cost.slots = slots_[fit.slots];
  cost.overhead = overheads_[fit.overhead];
  cost.fixed_us = fit.fixed_us;
  cost.step_us = fit.step_us;
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

LearnedDispatch learn_dispatch(const TrainingSet& training) {
  const std::size_t shapes = training.shapes.size();
  const Learner learner(training);
  const Learner::Learned learned = learner.learn(std::vector<bool>(shapes, true));
  LearnedDispatch made{.kernels = learned.kernels, .dispatch = {}, .regrets = {}, .left_out = {}};
  for (std::size_t shape = 0; shape < shapes; ++shape)
    made.regrets.push_back(learner.regret(learned, shape));
  const std::size_t folds = std::min(shapes, kFolds);
  if (folds > 1) made.left_out.resize(shapes);
  for (std::size_t fold = 0; folds > 1 && fold < folds; ++fold) {
    std::vector<bool> known(shapes, true);
    for (std::size_t shape = fold; shape < shapes; shape += folds) known[shape] = false;
    const Learner::Learned others = learner.learn(known);
    for (std::size_t shape = fold; shape < shapes; shape += folds)
      made.left_out[shape] = learner.regret(others, shape);
  }
  for (std::size_t choice = 0; choice < learned.kernels.size(); ++choice)
    for (std::size_t category = 0; category < training.categories.size(); ++category) {
      const std::pair at(learned.kernels[choice], category);
      const auto fit = learned.fits.find(at);
      if (fit == learned.fits.end()) continue;
      exports::KernelCost cost{.choice = choice,
                               .category = training.categories[category],
                               .queues = training.queues[at.first][category]};
      learner.times(at).write(fit->second, cost);
      made.dispatch.costs.push_back(std::move(cost));
    }
  made.dispatch.robust = learned.robust;
  for (const std::string& size : training.sizes) {
    exports::Dispatch::Range range{size, INT64_MAX, INT64_MIN};
    for (const Constants& shape : training.shapes) {
      range.least = std::min(range.least, integer(shape, size));
      range.most = std::max(range.most, integer(shape, size));
    }
    made.dispatch.ranges.push_back(range);
  }
  return made;
}

}  // namespace fa_tune::tuner
