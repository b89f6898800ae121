#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/search/strategy.hpp"
#include "engine/space/space.hpp"

namespace fa_tune {

// What a strategy remembers of a run: which configs were proposed, and the right ones by time.
// Shared by all strategies, so that 'never twice' is kept in one place.
class Archive {
 public:
  explicit Archive(const Space& space) : space_(space) {}

  // Takes the config for this run; false if it was taken before.
  bool claim(const Config& config);
  bool claimed(const Config& config) const;
  bool exhausted() const { return claimed_.size() >= space_.count(); }

  // A config not yet taken, uniform over those left; nothing if none is left.
  std::optional<Config> random_unclaimed(Random& random) const;

  void tell(const Told& told);
  // Right trials, fastest first; equal times by number, so that the order is that of the tells.
  const std::vector<Told>& ranked() const { return ranked_; }

 private:
  const Space& space_;
  std::unordered_set<std::string> claimed_;
  std::vector<Told> ranked_;
};

}  // namespace fa_tune
