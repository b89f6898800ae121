#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/search/strategy.hpp"
#include "engine/space/genome.hpp"
#include "engine/space/space.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::search {

// A trial of the run that passed.
struct Member {
  std::uint64_t number = 0;
  space::Genome genome;
  double time_us = 0;
};

// What a strategy remembers of a run: which configs were proposed, and those that passed, by time.
// Shared by all strategies, so that 'never twice' is kept in one place.
class Archive {
 public:
  explicit Archive(const space::Space& space) : space_(space) {}

  // Takes the config for this run; false if it was taken before.
  bool claim(const space::Genome& genome) { return claimed_.insert(genome).second; }
  bool claim(const Config& config) { return claim(space_.genome(config)); }
  bool claimed(const space::Genome& genome) const { return claimed_.contains(genome); }
  bool claimed(const Config& config) const { return claimed(space_.genome(config)); }
  bool exhausted() const { return space_.exact() && claimed_.size() >= space_.count(); }

  // A config not yet taken, uniform over those left; nothing if none is left.
  std::optional<space::Genome> random_unclaimed(Random& random) const;

  void tell(const Evaluation& told);
  // Trials that passed, fastest first; equal times by number, so the order is that of the tells.
  const std::vector<Member>& ranked() const { return ranked_; }

 private:
  const space::Space& space_;
  space::GenomeSet claimed_;
  std::vector<Member> ranked_;
};

}  // namespace fa_tune::search
