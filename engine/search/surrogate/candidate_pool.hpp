#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/search/archive.hpp"
#include "engine/search/surrogate/surrogate.hpp"

namespace fa_tune::search {

// Numbers of which the largest is asked for after every change of one: a tree whose nodes know the
// place of the largest below them. Of equal ones the first counts.
class Tournament {
 public:
  std::size_t size() const { return size_; }
  double operator[](std::size_t place) const { return numbers_[place]; }
  void push_back(double number);
  void pop_back();
  void set(std::size_t place, double number);
  // Not of none.
  std::size_t largest() const { return winners_[1]; }
  // The places that the largest has met on its way: the second largest is one of them, and others
  // stand high.
  template <typename Visit>
  void for_each_met(const Visit& visit) const {
    for (std::size_t node = numbers_.size() + largest(); node > 1; node /= 2)
      if (const std::size_t met = winner(node ^ 1); met < size_) visit(met);
  }

 private:
  // The place of the largest below a node, or of a leaf.
  std::size_t winner(std::size_t node) const;
  void play(std::size_t node);

  std::size_t size_ = 0;
  std::vector<double> numbers_;       // as many as leaves, -inf where there is none
  std::vector<std::size_t> winners_;  // node 1 is the root; those of the leaves are not kept
};

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
  // An improvement is one of `best`, a log time as the surrogate reads it. Both must outlive the
  // pool; the surrogate must not be told anything meanwhile.
  CandidatePool(Surrogate& surrogate, const Archive& archive, double best)
      : surrogate_(surrogate), archive_(archive), best_time_(best) {}

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
    Site site;
    GaussianProcess::Posterior posterior;
    double chance = 1;
  };
  void rate(std::size_t place);
  void refine(std::size_t first);
  void project_with_next(std::size_t first);

  Surrogate& surrogate_;
  const Archive& archive_;
  double best_time_;
  space::GenomeSet known_;
  std::vector<Entry> entries_;
  // Of the entries, what is looked at again and again: the promise, an upper bound until the
  // posterior is exact, and how many rows are projected.
  Tournament promises_;
  std::vector<std::size_t> projected_;
  std::size_t best_ = 0;
};

}  // namespace fa_tune::search
