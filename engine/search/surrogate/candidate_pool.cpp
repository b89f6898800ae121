#include "engine/search/surrogate/candidate_pool.hpp"

#include <algorithm>
#include <cmath>
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

double CandidatePool::promise(const GaussianProcess::Posterior& posterior, double chance) const {
  return chance * expected_improvement(surrogate_.best(), posterior.mean,
                                       std::sqrt(posterior.variance), surrogate_.times().freedom());
}

void CandidatePool::add(Candidate candidate) {
  if (archive_.claimed(candidate.genome) || !known_.insert(candidate.genome).second) return;
  Site site = surrogate_.site(candidate.genome);
  auto posterior = surrogate_.times().predict(site);
  const double chance = surrogate_.chance(site);
  const double promised = promise(posterior, chance);
  entries_.push_back(
      {std::move(candidate), std::move(site), std::move(posterior), chance, promised});
}

const Candidate& CandidatePool::best() {
  // Most bounds never have to be made exact: only those that stand first.
  while (true) {
    const auto first = std::ranges::max_element(entries_, {}, &Entry::promise);
    best_ = static_cast<std::size_t>(first - entries_.begin());
    if (surrogate_.times().exact(first->posterior)) return first->candidate;
    surrogate_.times().refine(first->site, first->posterior);
    first->promise = promise(first->posterior, first->chance);
  }
}

Candidate CandidatePool::take_best() {
  best();
  Entry entry = std::move(entries_[best_]);
  entries_[best_] = std::move(entries_.back());
  entries_.pop_back();
  surrogate_.times().believe(entry.site);
  return std::move(entry.candidate);
}

}  // namespace fa_tune::search
