#include "engine/search/archive.hpp"

#include <algorithm>

namespace fa_tune::search {

std::optional<space::Genome> Archive::random_unclaimed(Random& random) const {
  if (exhausted()) return std::nullopt;
  // Guessing is cheap while most are left; after that, walk on from a random place. The walk alone
  // would favour configs behind a claimed stretch, and only near the end of a space does that
  // happen.
  constexpr int kGuesses = 64;
  for (int guess = 0; guess < kGuesses; ++guess) {
    space::Genome genome = space_.sample_genome(random);
    if (!claimed(genome)) return genome;
  }
  // Too large to be used up: the guesses above all met what was tried, by an odd chance.
  if (!space_.exact()) return std::nullopt;
  const std::uint64_t start = random.below(space_.count());
  for (std::uint64_t step = 0; step < space_.count(); ++step) {
    space::Genome genome = space_.genome_at((start + step) % space_.count());
    if (!claimed(genome)) return genome;
  }
  return std::nullopt;
}

void Archive::tell(const Evaluation& told) {
  if (!told.passed || !told.time_us) return;
  const Member member{told.number, space_.genome(told.config), *told.time_us};
  const auto place = std::upper_bound(
      ranked_.begin(), ranked_.end(), member, [](const Member& a, const Member& b) {
        return a.time_us != b.time_us ? a.time_us < b.time_us : a.number < b.number;
      });
  ranked_.insert(place, member);
}

}  // namespace fa_tune::search
