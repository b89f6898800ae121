#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/search/archive.hpp"
#include "engine/search/surrogate/surrogate.hpp"
#include "engine/search/surrogate/tournament.hpp"
#include "engine/util/helper_threads.hpp"

namespace fa_tune::search {

// A config that may be tried, and where it came from.
struct Candidate {
  space::Genome genome;
  std::string operation;
  std::vector<std::uint64_t> parents;
};

// By how much a value will be below `best` on average, 0 where it is above (Jones, Schonlau and
// Welch 1998): `deviation` times Student's t with `freedom` degrees of freedom, more than 1, is
// what it differs from `mean` by.
double expected_improvement(double best, double mean, double deviation, int freedom);

// Children from which the surrogate chooses the one that promises most: by expected improvement of
// log time, which weighs how good a config is expected to be against how little is known of it,
// times the chance that it passes.
class CandidatePool {
 public:
  // An improvement is one of `best`, a log time as the surrogate reads it. All references must
  // outlive the pool; the surrogate must not be told anything meanwhile.
  CandidatePool(Surrogate& surrogate, const Archive& archive, HelperThreads& helpers, double best)
      : surrogate_(surrogate), archive_(archive), helpers_(helpers), best_time_(best) {}

  // Does nothing with a config that is in the pool or was tried.
  void add(Candidate candidate);
  bool empty() const { return entries_.empty(); }

  // The most promising one, which stays; valid until the next call.
  const Candidate& best();
  // Takes out what best() gave, and believes that it does as predicted: the next best one is to
  // tell something else.
  Candidate take_best();

 private:
  struct Entry {
    Candidate candidate;
    // What follows is not there before predict_added().
    Site site = {};
    GaussianProcess::Posterior posterior = {};
    double chance = 1;
  };

  void predict_added();
  double promise_of(const Entry& entry) const;
  void refine(std::size_t first);
  void project_with_next(std::size_t first);

  Surrogate& surrogate_;
  const Archive& archive_;
  HelperThreads& helpers_;
  double best_time_;
  space::GenomeSet known_;
  std::vector<Entry> entries_;
  // Of the entries that have predictions, what is looked at again and again: the promise, an upper
  // bound until the posterior is exact, and how many rows are projected.
  Tournament promises_;
  std::vector<std::size_t> projected_;
  std::size_t best_ = 0;
};

}  // namespace fa_tune::search
