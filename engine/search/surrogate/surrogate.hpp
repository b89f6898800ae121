#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/search/strategy.hpp"
#include "engine/search/surrogate/encoding.hpp"
#include "engine/search/surrogate/gaussian_process.hpp"
#include "engine/search/surrogate/regression.hpp"
#include "engine/space/space.hpp"

namespace fa_tune::search {

// What a search predicts of configs that it has not tried. How fast they are: a Gaussian process of
// log time over the trials told that passed, on top of what earlier runs say of a config. How
// likely they are to pass at all: a second one over all trials. A pure function of its seed and
// what it was told.
class Surrogate {
 public:
  // Without `feasibility` failed trials are passed over.
  Surrogate(const space::Space& space, const std::vector<PriorTrials>& earlier, bool feasibility,
            std::uint64_t seed);
  Surrogate(const Surrogate&) = delete;
  Surrogate& operator=(const Surrogate&) = delete;

  // No time: it failed.
  void tell(const space::Genome& genome, std::optional<double> time_us);
  // Whether enough was told to ask for times.
  bool ready() const;
  // Takes in what was told since; call before asking.
  void update();

  Site site(const space::Genome& genome) const;
  GaussianProcess& times() { return times_.process(); }
  // The lowest log time told; what an improvement is measured from.
  double best() const { return times_.lowest(); }
  // A time as the process of times has it.
  double read(double time_us) const;

  // Whether a trial failed so far; if none did, every chance is 1.
  bool doubtful() const;
  // Of passing, 0 to 1.
  double chance(const Site& site) const;

 private:
  void learn_earlier(const space::Space& space, const PriorTrials& run, std::uint64_t seed);

  Encoding encoding_;
  bool feasibility_;
  // Models of earlier runs' log times, which were made to have mean 0 and deviation 1.
  std::vector<GaussianProcess> earlier_;
  Regression times_;
  Regression failures_;  // 1 for a trial that failed, 0 for one that passed
  std::size_t failed_ = 0;
};

}  // namespace fa_tune::search
