#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/search/surrogate/encoding.hpp"
#include "engine/search/surrogate/gaussian_process.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::search {

// Weights to begin with: every gene counts, products hardly.
KernelWeights initial_weights(const Encoding& encoding, std::size_t earlier_runs);

// Improves the weights that make these values most likely, with a prior that keeps few trials from
// saying much: random steps of one weight at a time, kept if they help, `steps` of them. Leaves the
// process conditioned on the sites given.
void learn_weights(GaussianProcess& process, const Encoding& encoding, std::span<const Site> sites,
                   std::span<const double> values, int steps, Random& random);

// What a process is given for the values told.
enum class Reading : std::uint8_t {
  as_told,
  // On a scale that becomes logarithmic above the lowest value, in units of the median's distance
  // from it: order is kept, and how bad the bad ones are hardly counts. Such a process expects less
  // harm of a gene from a few very bad trials, and more of a place where the others hide it.
  compressed,
};

// A Gaussian process that keeps up with a growing list of observations. A pure function of its seed
// and what it was told.
class Regression {
 public:
  // `encoding` must outlive it. `earlier_runs` is how many of them each Site told brings.
  Regression(const Encoding& encoding, std::size_t earlier_runs, std::uint64_t seed);

  void tell(Site site, double value);
  std::size_t told() const { return values_.size(); }
  double lowest() const { return lowest_; }  // value told; infinite before the first

  // Takes in what was told since; call before asking the process. Learns the weights anew, in
  // `steps` and from the values as told, whenever the observations have grown by a fifth.
  void update(int steps, Reading reading = Reading::as_told);

  GaussianProcess& process() { return process_; }
  const GaussianProcess& process() const { return process_; }

 private:
  // Positions of the observations to condition on: all, or half of `most` being those with the
  // lowest values and the rest drawn from the others.
  std::vector<std::size_t> choose(std::size_t most);
  void learn(int steps);
  void condition();
  // Values of the observations held, in their order.
  std::vector<double> values_held(Reading reading) const;

  const Encoding* encoding_;
  Random random_;
  GaussianProcess process_;
  std::vector<Site> sites_;
  std::vector<double> values_;
  double lowest_;
  Reading reading_ = Reading::as_told;
  std::vector<std::size_t> held_;  // positions of the observations that the process has, in order
  std::size_t learned_at_ = 0;     // observations when the weights were learned
  std::size_t taken_in_ = 0;       // observations that the process has seen or passed over
};

}  // namespace fa_tune::search
