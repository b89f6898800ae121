#include "engine/search/surrogate/surrogate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/util/distributions.hpp"

namespace fa_tune::search {
namespace {

// Fewer trials leave the weights to the prior.
constexpr std::size_t kFewest = 4;
constexpr int kEarlierLearningSteps = 160;
// A least variance of what is believed of a failure: no model of a few trials is sure.
constexpr double kDoubt = 0.02;
// What makes a config fail depends on few genes, and to find out which takes longer than for times.
constexpr int kFailureLearningSteps = 320;

}  // namespace

Surrogate::Surrogate(const space::Space& space, const std::vector<PriorTrials>& earlier,
                     bool feasibility, std::uint64_t seed)
    : encoding_(space),
      feasibility_(feasibility),
      times_(encoding_, 0, derive_seed(seed, "times")),
      failures_(encoding_, 0, derive_seed(seed, "refusals")) {
  for (const PriorTrials& run : earlier) learn_earlier(space, run, seed);
  times_ = Regression(encoding_, earlier_.size(), derive_seed(seed, "times"), true);
}

void Surrogate::learn_earlier(const space::Space& space, const PriorTrials& run,
                              std::uint64_t seed) {
  std::vector<Site> sites;
  std::vector<double> values;
  for (const Evaluation& told : run.trials) {
    if (!told.passed || !told.time_us || !space.index_of(told.config)) continue;
    sites.push_back({encoding_.encode(space.genome(told.config)), {}});
    values.push_back(std::log(*told.time_us));
  }
  if (sites.size() < kFewest) return;
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double deviation = std::max(std::sqrt(squares / n), 1e-9);

  Regression model(encoding_, 0, derive_seed(seed, "earlier"));
  for (std::size_t i = 0; i < sites.size(); ++i)
    model.tell(std::move(sites[i]), (values[i] - mean) / deviation);
  model.update(kEarlierLearningSteps);
  earlier_.push_back(std::move(model.process()));
}

void Surrogate::tell(const space::Genome& genome, std::optional<double> time_us) {
  Site at = site(genome);
  failures_.tell({at.point, {}}, time_us ? 0 : 1);
  if (time_us)
    times_.tell(std::move(at), std::log(*time_us));
  else
    ++failed_;
}

double Surrogate::read(double time_us) const {
  return times_.reading()(std::log(time_us), times_.lowest());
}

bool Surrogate::doubtful() const { return feasibility_ && failed_ > 0; }

bool Surrogate::ready() const { return times_.told() >= kFewest; }

void Surrogate::update() {
  if (ready()) times_.update();
  if (doubtful()) failures_.update(kFailureLearningSteps);
}

Site Surrogate::site(const space::Genome& genome) const {
  Site site{encoding_.encode(genome), {}};
  for (const GaussianProcess& model : earlier_)
    site.earlier.push_back(static_cast<float>(model.predict({site.point, {}}).mean));
  return site;
}

double Surrogate::chance(const Site& site) const {
  if (!doubtful()) return 1;
  // Least squares classification (Rasmussen and Williams 2006, 6.5), with the cheap bound of the
  // variance.
  const auto failure = failures_.process().predict({site.point, {}});
  const double z = (0.5 - failure.mean) / std::sqrt(failure.variance + kDoubt);
  return normal_below(z);
}

}  // namespace fa_tune::search
