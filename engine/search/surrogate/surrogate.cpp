#include "engine/search/surrogate/surrogate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/search/surrogate/kernel_learning.hpp"

namespace fa_tune {
namespace {

// Fewer trials leave the weights to the prior.
constexpr std::size_t kFewest = 4;
// Trials that the process holds, and those that its weights are learned from: time grows with the
// third power. With more, the process has the fastest and a sample of the rest.
constexpr std::size_t kMostHeld = 250;
constexpr std::size_t kMostLearned = 120;
constexpr double kLearnAgain = 1.2;
constexpr int kLearningSteps = 80;
constexpr int kEarlierLearningSteps = 160;

}  // namespace

Surrogate::Surrogate(const Space& space, const std::vector<EarlierRun>& earlier, std::uint64_t seed)
    : encoding_(space),
      random_(derive_seed(seed, "surrogate")),
      process_(encoding_, 0),
      best_(std::numeric_limits<double>::infinity()) {
  for (const EarlierRun& run : earlier) learn_earlier(space, run);
  process_ = GaussianProcess(encoding_, earlier_.size());
  process_.set_weights(initial_weights(encoding_, earlier_.size()));
}

void Surrogate::learn_earlier(const Space& space, const EarlierRun& run) {
  std::vector<Site> sites;
  std::vector<double> values;
  for (const Told& told : run.trials) {
    if (!told.right || !told.time_us || !space.index_of(told.config)) continue;
    sites.push_back({encoding_.encode(space.genome(told.config)), {}});
    values.push_back(std::log(*told.time_us));
  }
  if (sites.size() < kFewest) return;
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double deviation = std::max(std::sqrt(squares / n), 1e-9);
  for (double& value : values) value = (value - mean) / deviation;

  sites_ = std::move(sites);
  log_times_ = std::move(values);
  process_ = GaussianProcess(encoding_, 0);
  process_.set_weights(initial_weights(encoding_, 0));
  learn(kEarlierLearningSteps);
  condition();
  earlier_.push_back(std::move(process_));
  sites_.clear();
  log_times_.clear();
  taken_in_ = 0;
}

void Surrogate::tell(const Genome& genome, double time_us) {
  sites_.push_back(site(genome));
  log_times_.push_back(std::log(time_us));
  best_ = std::min(best_, log_times_.back());
}

bool Surrogate::ready() const { return log_times_.size() >= kFewest; }

Site Surrogate::site(const Genome& genome) const {
  Site site{encoding_.encode(genome), {}};
  for (const GaussianProcess& model : earlier_)
    site.earlier.push_back(static_cast<float>(model.predict({site.point, {}}).mean));
  return site;
}

std::vector<std::size_t> Surrogate::choose(std::size_t most) {
  std::vector<std::size_t> chosen(log_times_.size());
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  if (chosen.size() <= most) return chosen;
  std::ranges::stable_sort(
      chosen, [&](std::size_t a, std::size_t b) { return log_times_[a] < log_times_[b]; });
  for (std::size_t i = most / 2; i < most; ++i)
    std::swap(chosen[i], chosen[i + random_.below(chosen.size() - i)]);
  chosen.resize(most);
  return chosen;
}

void Surrogate::condition() {
  process_.clear();
  for (const std::size_t i : choose(kMostHeld)) process_.append(sites_[i], log_times_[i]);
  process_.solve();
  taken_in_ = sites_.size();
}

void Surrogate::learn(int steps) {
  std::vector<Site> sites;
  std::vector<double> values;
  for (const std::size_t i : choose(kMostLearned)) {
    sites.push_back(sites_[i]);
    values.push_back(log_times_[i]);
  }
  learn_weights(process_, encoding_, sites, values, steps, random_);
}

void Surrogate::update() {
  process_.forget_beliefs();
  const double trials = static_cast<double>(sites_.size());
  if (learned_at_ == 0 || trials >= kLearnAgain * static_cast<double>(learned_at_)) {
    learn(kLearningSteps);
    learned_at_ = sites_.size();
    condition();
  } else if (process_.size() + (sites_.size() - taken_in_) > kMostHeld * 5 / 4) {
    condition();
  } else if (taken_in_ < sites_.size()) {
    for (; taken_in_ < sites_.size(); ++taken_in_)
      process_.append(sites_[taken_in_], log_times_[taken_in_]);
    process_.solve();
  }
}

}  // namespace fa_tune
