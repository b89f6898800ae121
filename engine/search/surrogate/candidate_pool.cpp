#include "engine/search/surrogate/candidate_pool.hpp"

#include <algorithm>
#include <array>
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

void CandidatePool::rate(std::size_t place) {
  const Entry& entry = entries_[place];
  const GaussianProcess::Posterior& posterior = entry.posterior;
  const double promise =
      entry.chance * expected_improvement(best_time_, posterior.mean, std::sqrt(posterior.variance),
                                          surrogate_.times().freedom());
  standings_[place] = {promise, posterior.projected};
}

void CandidatePool::add(Candidate candidate) {
  if (archive_.claimed(candidate.genome) || !known_.insert(candidate.genome).second) return;
  Site site = surrogate_.site(candidate.genome);
  auto posterior = surrogate_.times().predict(site);
  const double chance = surrogate_.chance(site);
  entries_.push_back({std::move(candidate), std::move(site), std::move(posterior), chance});
  standings_.emplace_back();
  rate(entries_.size() - 1);
}

// With the ones that stand next, of those with as many rows projected: most of them are to be
// refined too before a best one is found.
void CandidatePool::project_with_next(std::size_t first) {
  std::array<std::size_t, kTogether> chosen{first};
  std::size_t count = 1;
  const auto promise = [this](std::size_t i) { return standings_[i].promise; };
  for (std::size_t i = 0; i < standings_.size(); ++i) {
    if (standings_[i].projected != standings_[first].projected || i == first) continue;
    if (count == kTogether && promise(i) <= promise(chosen.back())) continue;
    count = std::min(count + 1, kTogether);
    std::size_t place = count - 1;
    for (; place > 1 && promise(i) > promise(chosen[place - 1]); --place)
      chosen[place] = chosen[place - 1];
    chosen[place] = i;
  }
  if (count < kTogether) return;
  std::array<std::pair<const Site*, GaussianProcess::Posterior*>, kTogether> all{};
  for (std::size_t k = 0; k < kTogether; ++k)
    all[k] = {&entries_[chosen[k]].site, &entries_[chosen[k]].posterior};
  surrogate_.times().project_together(all);
  for (const std::size_t i : chosen) standings_[i].projected = entries_[i].posterior.projected;
}

void CandidatePool::refine(std::size_t first) {
  Entry& entry = entries_[first];
  if (surrogate_.times().lacks_rows(entry.posterior)) project_with_next(first);
  surrogate_.times().refine(entry.site, entry.posterior);
  rate(first);
}

const Candidate& CandidatePool::best() {
  // Most bounds never have to be made exact: only those that stand first.
  while (true) {
    const auto first = std::ranges::max_element(standings_, {}, &Standing::promise);
    best_ = static_cast<std::size_t>(first - standings_.begin());
    if (surrogate_.times().exact(entries_[best_].posterior)) return entries_[best_].candidate;
    refine(best_);
  }
}

Candidate CandidatePool::take_best() {
  best();
  Entry entry = std::move(entries_[best_]);
  entries_[best_] = std::move(entries_.back());
  entries_.pop_back();
  standings_[best_] = standings_.back();
  standings_.pop_back();
  surrogate_.times().believe(entry.site, std::move(entry.posterior));
  return std::move(entry.candidate);
}

}  // namespace fa_tune::search
