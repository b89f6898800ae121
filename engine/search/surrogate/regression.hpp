#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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

// How a process reads the values told: x above the lowest one as unit * log(1 + x / unit). Order and
// small differences are kept; how bad the bad ones are counts the less, the smaller the unit is.
// Nothing: as told.
struct Reading {
  std::optional<double> unit;

  double operator()(double value, double lowest) const;
  // Logarithm of the derivative: what a likelihood of read values lacks to be one of values told.
  double log_slope(double value, double lowest) const;
};

// A Gaussian process that keeps up with a growing list of observations. A pure function of its seed
// and what it was told.
class Regression {
 public:
  // `encoding` must outlive it. `earlier_runs` is how many of them each Site told brings. With
  // `choose_reading` the process has values in the likeliest reading, once there are enough.
  Regression(const Encoding& encoding, std::size_t earlier_runs, std::uint64_t seed,
             bool choose_reading = false);

  void tell(Site site, double value);
  std::size_t told() const { return values_.size(); }
  double lowest() const { return lowest_; }  // value told; infinite before the first
  const Reading& reading() const { return reading_; }

  // Takes in what was told since; call before asking the process. Learns the weights anew, in
  // `steps`, whenever the observations have grown by a fifth.
  void update(int steps = 80);

  GaussianProcess& process() { return process_; }
  const GaussianProcess& process() const { return process_; }

 private:
  // Positions of the observations to condition on: all, or half of `most` being those with the
  // lowest values and the rest drawn from the others.
  std::vector<std::size_t> choose(std::size_t most);
  void learn(int steps);
  void learn_reading(const std::vector<std::size_t>& positions);
  void condition();
  // Of the observations at these positions, as they are read.
  std::vector<double> values_at(const std::vector<std::size_t>& positions) const;

  const Encoding* encoding_;
  Random random_;
  GaussianProcess process_;
  std::vector<Site> sites_;
  std::vector<double> values_;
  double lowest_;
  bool choose_reading_;
  Reading reading_;
  std::vector<std::size_t> held_;  // positions of the observations that the process has, in order
  std::size_t learned_at_ = 0;     // observations when the weights were learned
  std::size_t taken_in_ = 0;       // observations that the process has seen or passed over
};

}  // namespace fa_tune::search
