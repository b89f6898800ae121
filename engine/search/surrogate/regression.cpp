#include "engine/search/surrogate/regression.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/search/surrogate/kernel_learning.hpp"

namespace fa_tune {
namespace {

// Observations that the process holds, and those that its weights are learned from: time grows with
// the third power. With more, the process has the lowest and a sample of the rest.
constexpr std::size_t kMostHeld = 250;
constexpr std::size_t kMostLearned = 120;
constexpr double kLearnAgain = 1.2;

}  // namespace

Regression::Regression(const Encoding& encoding, std::size_t earlier_runs, std::uint64_t seed)
    : encoding_(&encoding),
      random_(seed),
      process_(encoding, earlier_runs),
      lowest_(std::numeric_limits<double>::infinity()) {
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
  for (const std::size_t i : choose(kMostHeld)) process_.append(sites_[i], values_[i]);
  process_.solve();
  taken_in_ = sites_.size();
}

void Regression::learn(int steps) {
  std::vector<Site> sites;
  std::vector<double> values;
  for (const std::size_t i : choose(kMostLearned)) {
    sites.push_back(sites_[i]);
    values.push_back(values_[i]);
  }
  learn_weights(process_, *encoding_, sites, values, steps, random_);
}

void Regression::update(int steps) {
  process_.forget_beliefs();
  if (sites_.empty()) return;
  const double observations = static_cast<double>(sites_.size());
  if (learned_at_ == 0 || observations >= kLearnAgain * static_cast<double>(learned_at_)) {
    learn(steps);
    learned_at_ = sites_.size();
    condition();
  } else if (process_.size() + (sites_.size() - taken_in_) > kMostHeld * 5 / 4) {
    condition();
  } else if (taken_in_ < sites_.size()) {
    for (; taken_in_ < sites_.size(); ++taken_in_)
      process_.append(sites_[taken_in_], values_[taken_in_]);
    process_.solve();
  }
}

}  // namespace fa_tune
