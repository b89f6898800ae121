#include "engine/tuner/portfolio/kernel_costs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "engine/tuner/portfolio/kernel_times.hpp"

namespace fa_tune::tuner {
namespace {

using exports::QueueAtShape;

// What it counts where a kernel does not serve a shape: more than any time does.
constexpr double kNotServed = 10;
// A further kernel has to save this much of the mean regret.
constexpr double kHair = 0.0001;
constexpr std::size_t kFolds = 10;

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
    for (std::size_t i = 0; i < training.untimed.size(); ++i) take_untimed(i);
  }

  struct Learned {
    std::vector<std::size_t> kernels;
    std::vector<std::size_t> robust;  // places of `kernels`, in their order
    std::map<std::pair<std::size_t, std::size_t>, KernelTimes::Fit> fits;  // kernel, category
  };

  Learned learn(const std::vector<bool>& known) {
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
    // Of untimed shapes: their launches, and how long queues are there, by slots and overhead.
    std::vector<std::size_t> untimed = {};
    std::vector<std::vector<QueueAtShape>> queues = {};
    std::map<std::pair<std::size_t, std::size_t>, std::vector<KernelTimes::Lengths>> lengths = {};

    const std::vector<KernelTimes::Lengths>& lengths_of(const KernelTimes::Fit& fit) {
      const auto [at, fresh] = lengths.try_emplace({fit.slots, fit.overhead});
      if (fresh)
        for (const auto& each : queues) at->second.push_back(times.lengths(fit, each));
      return at->second;
    }
  };

  void take(std::size_t kernel, std::size_t category) {
    const std::vector<exports::QueueFormulas>& formulas = training_.queues[kernel][category];
    if (formulas.empty()) return;
    std::vector<std::size_t> shapes;
    std::vector<std::vector<QueueAtShape>> queues;
    std::vector<double> us;
    for (std::size_t shape = 0; shape < best_.size(); ++shape) {
      if (training_.category[shape] != category || !training_.us[kernel][shape]) continue;
      auto of_shape = queues_at(formulas, training_.shapes[shape]);
      if (!of_shape) continue;
      shapes.push_back(shape);
      queues.push_back(std::move(*of_shape));
      us.push_back(*training_.us[kernel][shape]);
    }
    if (shapes.empty()) return;
    for (std::size_t i = 0; i < shapes.size(); ++i) index_[{kernel, shapes[i]}] = i;
    places_.emplace(std::pair(kernel, category),
                    Place{std::move(shapes), KernelTimes(queues, std::move(us), training_.sms,
                                                         training_.cluster[kernel][category])});
  }

  void take_untimed(std::size_t i) {
    const TrainingSet::Untimed& untimed = training_.untimed[i];
    for (auto& [at, place] : places_) {
      if (at.second != untimed.category) continue;
      auto queues = queues_at(training_.queues[at.first][at.second], untimed.shape);
      if (!queues) continue;
      place.untimed.push_back(i);
      place.queues.push_back(std::move(*queues));
    }
  }

  // Of all its launches; nothing where one of them cannot be.
  static std::optional<std::vector<QueueAtShape>> queues_at(
      const std::vector<exports::QueueFormulas>& formulas, const Constants& shape) {
    std::vector<QueueAtShape> queues;
    for (const exports::QueueFormulas& each : formulas) {
      auto queue = queue_at(each, shape);
      if (!queue) return std::nullopt;
      queues.push_back(std::move(*queue));
    }
    return queues;
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
    return places_.at(at).times.cautious_us(fit->second, index->second);
  }

  // At untimed shapes, logarithms of predicted times over the least of them: [kernel][shape].
  Costs expected_regrets(const Learned& learned) {
    Costs all(training_.us.size(), std::vector<std::optional<double>>(training_.untimed.size()));
    std::vector<double> least(training_.untimed.size(), std::numeric_limits<double>::infinity());
    for (auto& [at, place] : places_) {
      const auto fit = learned.fits.find(at);
      if (fit == learned.fits.end()) continue;
      const auto& lengths = place.lengths_of(fit->second);
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        const double us = fit->second.cautious_us(lengths[i]);
        all[at.first][place.untimed[i]] = us;
        least[place.untimed[i]] = std::min(least[place.untimed[i]], us);
      }
    }
    for (auto& row : all)
      for (std::size_t i = 0; i < row.size(); ++i)
        if (row[i]) row[i] = std::log(*row[i] / least[i]);
    return all;
  }

  // One more at a time, the one that saves most: at known shapes of what was measured, at untimed
  // ones of what is expected, both alike in weight.
  void choose(const std::vector<bool>& known, Learned& learned) {
    const std::size_t shapes = best_.size();
    std::vector<std::vector<std::optional<double>>> us(training_.us.size());
    for (std::size_t kernel = 0; kernel < us.size(); ++kernel)
      for (std::size_t shape = 0; shape < shapes; ++shape)
        us[kernel].push_back(predicted(learned, kernel, shape));
    const Costs expected = expected_regrets(learned);
    std::vector<std::optional<double>> least(shapes);  // predicted, of those that are chosen
    std::vector<double> regrets(shapes, kNotServed);
    std::vector<double> untimed(training_.untimed.size(), kNotServed);
    const auto known_count = static_cast<double>(std::ranges::count(known, true));
    const auto untimed_count = static_cast<double>(untimed.size());
    while (learned.kernels.size() < kMostChoices) {
      double most_saved = kHair;
      std::optional<std::size_t> next;
      for (std::size_t kernel = 0; kernel < us.size(); ++kernel) {
        double saved = 0, saved_untimed = 0;
        for (std::size_t shape = 0; shape < shapes; ++shape)
          if (known[shape] && us[kernel][shape] &&
              (!least[shape] || *us[kernel][shape] < *least[shape]))
            saved += regrets[shape] - *regret_of(kernel, shape);
        for (std::size_t i = 0; i < untimed.size(); ++i)
          saved_untimed += std::max(0.0, untimed[i] - expected[kernel][i].value_or(kNotServed));
        saved /= known_count;
        if (!untimed.empty()) saved = (saved + saved_untimed / untimed_count) / 2;
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
      for (std::size_t i = 0; i < untimed.size(); ++i)
        untimed[i] = std::min(untimed[i], expected[*next][i].value_or(kNotServed));
    }
  }

  const TrainingSet& training_;
  std::vector<double> best_;                                     // us, of each shape
  std::map<std::pair<std::size_t, std::size_t>, Place> places_;  // kernel, category
  std::map<std::pair<std::size_t, std::size_t>, std::size_t>
      index_;  // kernel, shape: in Place::shapes
};

}  // namespace

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
  Learner learner(training);
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
