#include "engine/search/surrogate/candidate_pool.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

#include "engine/util/distributions.hpp"

namespace fa_tune::search {

namespace {

// From here on Student's distribution is taken for the normal one.
constexpr int kNormalFrom = 60;

}  // namespace

double expected_improvement(double best, double mean, double deviation, int freedom) {
  const double z = (best - mean) / deviation;
  if (freedom >= kNormalFrom) {
    const double density =
        std::exp(-0.5 * z * z) * (0.5 * std::numbers::inv_sqrtpi * std::numbers::sqrt2);
    return deviation * (z * normal_below(z) + density);
  }
  const Ordinate at = student_at(z, freedom);
  return deviation * std::max(0.0, z * at.below + (freedom + z * z) / (freedom - 1) * at.density);
}

double CandidatePool::promise_of(const Entry& entry) const {
  const GaussianProcess::Posterior& posterior = entry.posterior;
  return entry.chance * expected_improvement(best_time_, posterior.mean,
                                             std::sqrt(posterior.variance),
                                             surrogate_.times().freedom());
}

void CandidatePool::add(Candidate candidate) {
  if (archive_.claimed(candidate.genome) || !known_.insert(candidate.genome).second) return;
  entries_.push_back({std::move(candidate)});
}

// What is predicted of a candidate depends on no other.
void CandidatePool::predict_added() {
  const std::size_t first = promises_.size();
  if (first == entries_.size()) return;
  std::vector<double> promises(entries_.size() - first);
  helpers_.share(promises.size(), [&](std::size_t i) {
    Entry& entry = entries_[first + i];
    entry.site = surrogate_.site(entry.candidate.genome);
    entry.posterior = surrogate_.times().predict(entry.site);
    entry.chance = surrogate_.chance(entry.site);
    promises[i] = promise_of(entry);
  });
  for (const double promise : promises) promises_.push_back(promise);
  projected_.resize(entries_.size(), 0);
}

// With ones that stand next, of those with as many rows projected: most of them are to be refined
// too before a best one is found.
void CandidatePool::project_with_next(std::size_t first) {
  std::vector<std::size_t> chosen;
  promises_.for_each_met([&](std::size_t i) {
    if (projected_[i] == projected_[first]) chosen.push_back(i);
  });
  std::ranges::sort(chosen, std::greater{}, [this](std::size_t i) { return promises_[i]; });
  chosen.insert(chosen.begin(), first);
  const std::size_t count = std::min(chosen.size(), kTogether);
  chosen.resize(count - count % kTogetherStep);
  if (chosen.empty()) return;
  std::vector<std::pair<const Site*, GaussianProcess::Posterior*>> all;
  for (const std::size_t i : chosen) all.emplace_back(&entries_[i].site, &entries_[i].posterior);
  surrogate_.times().project_together(all);
  for (const std::size_t i : chosen) projected_[i] = entries_[i].posterior.projected;
}

void CandidatePool::refine(std::size_t first) {
  Entry& entry = entries_[first];
  if (surrogate_.times().lacks_rows(entry.posterior)) project_with_next(first);
  surrogate_.times().refine(entry.site, entry.posterior);
  promises_.set(first, promise_of(entry));
  projected_[first] = entry.posterior.projected;
}

const Candidate& CandidatePool::best() {
  predict_added();
  // Most bounds never have to be made exact: only those that stand first.
  while (true) {
    best_ = promises_.largest();
    if (surrogate_.times().exact(entries_[best_].posterior)) return entries_[best_].candidate;
    refine(best_);
  }
}

Candidate CandidatePool::take_best() {
  best();
  Entry entry = std::move(entries_[best_]);
  entries_[best_] = std::move(entries_.back());
  entries_.pop_back();
  promises_.set(best_, promises_[entries_.size()]);
  promises_.pop_back();
  projected_[best_] = projected_.back();
  projected_.pop_back();
  surrogate_.times().believe(entry.site, std::move(entry.posterior));
  return std::move(entry.candidate);
}

}  // namespace fa_tune::search
