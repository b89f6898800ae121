#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/search/strategy.hpp"
#include "engine/search/surrogate/encoding.hpp"
#include "engine/search/surrogate/gaussian_process.hpp"
#include "engine/space/space.hpp"

namespace fa_tune {

// What a search believes about configs that it has not tried: a Gaussian process of log time over
// the trials told, on top of what earlier runs say of a config. A pure function of its seed and
// what it was told.
class Surrogate {
 public:
  Surrogate(const Space& space, const std::vector<EarlierRun>& earlier, std::uint64_t seed);

  // A right trial. Failures are not told: a bad score for them would bend the model near them.
  void tell(const Genome& genome, double time_us);
  // Whether enough was told to ask.
  bool ready() const;
  // Takes in what was told since; call before asking. Learns the weights anew whenever the trials
  // have grown by a fifth.
  void update();

  Site site(const Genome& genome) const;
  GaussianProcess& process() { return process_; }
  // The lowest log time told; what an improvement is measured from.
  double best() const { return best_; }

 private:
  void learn_earlier(const Space& space, const EarlierRun& run);
  void learn(int steps);
  // Positions of the trials to condition on: all, or half of `most` being the fastest and the rest
  // drawn from the others.
  std::vector<std::size_t> choose(std::size_t most);
  void condition();

  Encoding encoding_;
  Random random_;
  // Models of earlier runs' log times, which were made to have mean 0 and deviation 1.
  std::vector<GaussianProcess> earlier_;
  GaussianProcess process_;
  std::vector<Site> sites_;
  std::vector<double> log_times_;
  double best_;
  std::size_t learned_at_ = 0;  // trials when the weights were learned
  std::size_t taken_in_ = 0;    // trials that the process has seen or passed over
};

}  // namespace fa_tune
