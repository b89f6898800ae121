#include "engine/search/archive.hpp"

#include <algorithm>

namespace fa_tune {

bool Archive::claim(const Config& config) { return claimed_.insert(config.to_json()).second; }

bool Archive::claimed(const Config& config) const { return claimed_.contains(config.to_json()); }

std::optional<Config> Archive::random_unclaimed(Random& random) const {
  if (exhausted()) return std::nullopt;
  // Guessing is cheap while most are left; after that, walk on from a random place. The walk alone
  // would favour configs behind a claimed stretch, and only near the end of a space does that
  // happen.
  constexpr int kGuesses = 64;
  for (int guess = 0; guess < kGuesses; ++guess) {
    Config config = space_.sample(random);
    if (!claimed(config)) return config;
  }
  const std::uint64_t start = random.below(space_.count());
  for (std::uint64_t step = 0; step < space_.count(); ++step) {
    Config config = space_.at((start + step) % space_.count());
    if (!claimed(config)) return config;
  }
  return std::nullopt;
}

void Archive::tell(const Told& told) {
  if (!told.right || !told.time_us) return;
  const auto place =
      std::upper_bound(ranked_.begin(), ranked_.end(), told, [](const Told& a, const Told& b) {
        return *a.time_us != *b.time_us ? *a.time_us < *b.time_us : a.number < b.number;
      });
  ranked_.insert(place, told);
}

}  // namespace fa_tune
