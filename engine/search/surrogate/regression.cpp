#include "engine/search/surrogate/regression.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace fa_tune::search {
namespace {

// A weight's prior: a normal distribution of its logarithm, and how far it may go.
struct Prior {
  double mean, deviation, low, high;
};

// Wide: a factor of e^2 either way is nothing special. At the means, a gene's ends have a
// correlation of about 0.4 and two neighbours of a long list one of about 0.8.
constexpr Prior kStep = {-1.2, 2, -7, 4};
constexpr Prior kSlope = {-0.5, 2, -9, 6};
// Products are many and most of them mean nothing.
constexpr Prior kProduct = {-5, 3, -9, 6};
// An earlier run of another shape or device may say little, or the wrong thing: trust is earned.
constexpr Prior kTrust = {-2, 1.5, -9, 5};
constexpr Prior kNoise = {-7, 2.5, -12, -0.5};
// Of the steps that move a dimension, those that move one of the genes themselves.
constexpr double kGenesShare = 0.6;

struct Weight {
  double* log;
  Prior prior;
};

// The weights in use, genes before products before the rest.
struct Weights {
  std::vector<Weight> genes, products, others;
};

Weights in_use(KernelWeights& weights, const Encoding& encoding) {
  Weights all;
  const auto& dimensions = encoding.dimensions();
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    if (weights.step[d] > KernelWeights::kOff) all.genes.push_back({&weights.step[d], kStep});
    if (weights.slope[d] <= KernelWeights::kOff) continue;
    if (dimensions[d].product)
      all.products.push_back({&weights.slope[d], kProduct});
    else
      all.genes.push_back({&weights.slope[d], kSlope});
  }
  for (double& trust : weights.trust) all.others.push_back({&trust, kTrust});
  all.others.push_back({&weights.noise, kNoise});
  return all;
}

double log_prior(const Weights& all) {
  double sum = 0;
  for (const auto* group : {&all.genes, &all.products, &all.others})
    for (const Weight& weight : *group) {
      const double z = (*weight.log - weight.prior.mean) / weight.prior.deviation;
      sum -= 0.5 * z * z;
    }
  return sum;
}

double condition(GaussianProcess& process, const KernelWeights& weights,
                 std::span<const Site> sites, std::span<const double> values) {
  process.set_weights(weights);
  for (std::size_t i = 0; i < sites.size(); ++i) process.append(sites[i], values[i]);
  return process.solve();
}

const Weight& choose(const Weights& all, Random& random) {
  const std::size_t count = all.genes.size() + all.products.size() + all.others.size();
  const std::size_t draw = random.below(count);
  if (draw < all.others.size()) return all.others[draw];
  const auto& group = all.products.empty() || (!all.genes.empty() && random.uniform() < kGenesShare)
                          ? all.genes
                          : all.products;
  return group.empty() ? all.others.front() : group[random.below(group.size())];
}

}  // namespace

KernelWeights initial_weights(const Encoding& encoding, std::size_t earlier_runs) {
  KernelWeights weights;
  for (const Encoding::Dimension& dimension : encoding.dimensions()) {
    weights.step.push_back(dimension.product ? KernelWeights::kOff : kStep.mean);
    weights.slope.push_back(dimension.product   ? kProduct.mean
                            : dimension.ordered ? kSlope.mean
                                                : KernelWeights::kOff);
  }
  weights.trust.assign(earlier_runs, kTrust.mean);
  weights.noise = kNoise.mean;
  return weights;
}

void learn_weights(GaussianProcess& process, const Encoding& encoding, std::span<const Site> sites,
                   std::span<const double> values, int steps, Random& random) {
  KernelWeights weights = process.weights();
  Weights all = in_use(weights, encoding);
  double best = condition(process, weights, sites, values) + log_prior(all);
  bool current = true;
  for (int step = 0; step < steps; ++step) {
    const Weight& weight = choose(all, random);
    const double before = *weight.log;
    // A bell of width 1.5 by three uniforms.
    const double draw = random.uniform() + random.uniform() + random.uniform() - 1.5;
    *weight.log = std::clamp(before + 3 * draw, weight.prior.low, weight.prior.high);
    const double score = condition(process, weights, sites, values) + log_prior(all);
    current = score > best;
    if (current)
      best = score;
    else
      *weight.log = before;
  }
  if (!current) condition(process, weights, sites, values);
}

namespace {

// Observations that the process holds, and those that its weights are learned from: time grows with
// the third power. With more, the process has the lowest and a sample of the rest.
constexpr std::size_t kMostHeld = 250;
constexpr std::size_t kMostLearned = 120;
constexpr double kLearnAgain = 1.2;
// Observations from which on a reading is chosen, and the units to choose from. Of log times, in
// the smallest one four times the best reads as 1.6 times. Smaller units, or a choice from fewer
// observations, keep a search near the first good config.
constexpr std::size_t kReadFrom = 48;
constexpr std::array<std::optional<double>, 6> kUnits = {std::nullopt, 4, 2, 1, 0.5, 0.25};

}  // namespace

double Reading::operator()(double value, double lowest) const {
  return unit ? lowest + *unit * std::log1p((value - lowest) / *unit) : value;
}

double Reading::log_slope(double value, double lowest) const {
  return unit ? -std::log1p((value - lowest) / *unit) : 0;
}

Regression::Regression(const Encoding& encoding, std::size_t earlier_runs, std::uint64_t seed,
                       bool choose_reading)
    : encoding_(&encoding),
      random_(seed),
      process_(encoding, earlier_runs),
      lowest_(std::numeric_limits<double>::infinity()),
      choose_reading_(choose_reading) {
  process_.set_weights(initial_weights(encoding, earlier_runs));
}

void Regression::tell(Site site, double value) {
  sites_.push_back(std::move(site));
  values_.push_back(value);
  lowest_ = std::min(lowest_, value);
}

std::vector<std::size_t> Regression::choose(std::size_t most) {
  std::vector<std::size_t> chosen(values_.size());
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  if (chosen.size() <= most) return chosen;
  std::ranges::stable_sort(chosen,
                           [&](std::size_t a, std::size_t b) { return values_[a] < values_[b]; });
  for (std::size_t i = most / 2; i < most; ++i)
    std::swap(chosen[i], chosen[i + random_.below(chosen.size() - i)]);
  chosen.resize(most);
  return chosen;
}

void Regression::condition() {
  process_.clear();
  held_ = choose(kMostHeld);
  for (const std::size_t i : held_) process_.append(sites_[i], values_[i]);
  taken_in_ = sites_.size();
}

std::vector<double> Regression::values_at(const std::vector<std::size_t>& positions) const {
  std::vector<double> read;
  read.reserve(positions.size());
  for (const std::size_t i : positions) read.push_back(reading_(values_[i], lowest_));
  return read;
}

void Regression::learn_reading(const std::vector<std::size_t>& positions) {
  Reading likeliest;
  double best = -std::numeric_limits<double>::infinity();
  for (const auto& unit : kUnits) {
    reading_ = {unit};
    double likelihood = process_.set_values(values_at(positions));
    for (const std::size_t i : positions) likelihood += reading_.log_slope(values_[i], lowest_);
    if (likelihood <= best) continue;
    best = likelihood;
    likeliest = reading_;
  }
  reading_ = likeliest;
}

void Regression::learn(int steps) {
  const std::vector<std::size_t> positions = choose(kMostLearned);
  std::vector<Site> sites;
  for (const std::size_t i : positions) sites.push_back(sites_[i]);
  const bool read = choose_reading_ && values_.size() >= kReadFrom;
  const int before = read ? steps / 2 : steps;
  learn_weights(process_, *encoding_, sites, values_at(positions), before, random_);
  if (!read) return;
  learn_reading(positions);
  learn_weights(process_, *encoding_, sites, values_at(positions), steps - before, random_);
}

void Regression::update(int steps) {
  process_.forget_beliefs();
  if (taken_in_ == sites_.size()) return;
  const auto observations = static_cast<double>(sites_.size());
  if (learned_at_ == 0 || observations >= kLearnAgain * static_cast<double>(learned_at_)) {
    learn(steps);
    learned_at_ = sites_.size();
    condition();
  } else if (process_.size() + (sites_.size() - taken_in_) > kMostHeld * 5 / 4) {
    condition();
  } else {
    for (; taken_in_ < sites_.size(); ++taken_in_) {
      process_.append(sites_[taken_in_], values_[taken_in_]);
      held_.push_back(taken_in_);
    }
  }
  process_.set_values(values_at(held_));
}

}  // namespace fa_tune::search
