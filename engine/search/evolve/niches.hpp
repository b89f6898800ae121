#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "engine/search/archive.hpp"
#include "engine/space/genome.hpp"
#include "engine/space/space.hpp"

namespace fa_tune::search {

// Some genes, of which every combination of values is a niche: a search that gives each its share
// ends with a good config of every kind, and not only with the fastest ones, which are mostly
// alike (MAP-Elites: Mouret and Clune 2015, arXiv 1504.04909). For who chooses among unlike kernels
// later: which is fastest here need not be so at another shape.
class Niches {
 public:
  static constexpr std::size_t kMost = 256;

  struct Niche {
    space::Genome digits;         // of the genes, in their order
    std::vector<Member> fastest;  // those that passed, a few, the fastest first
    std::size_t turns = 0;        // configs asked for, and turns that found none
  };

  Niches() = default;  // none
  // `genes` by their names, "CONSUMERS+BLOCKS". Throws UserError for a name that no gene has, and
  // for more than kMost combinations.
  Niches(const space::Space& space, const std::string& genes);

  bool none() const { return genes_.empty(); }
  void take(const space::Genome& genome);
  void tell(const Member& member);
  // The one with the fewest turns, of those whose fastest takes at most 1.5 times `best_us` or that
  // had few turns so far; null if there is none.
  const Niche* next(double best_us) const;
  // Its turn found no config to ask for.
  void pass(const Niche& niche) { ++niches_.at(niche.digits).turns; }

  bool has(const Niche& niche, const space::Genome& genome) const {
    return digits_of(genome) == niche.digits;
  }
  // The genome with the niche's genes in the place of its own, which may not be valid.
  space::Genome moved(space::Genome genome, const Niche& niche) const;

 private:
  space::Genome digits_of(const space::Genome& genome) const;

  std::vector<std::size_t> genes_;
  std::map<space::Genome, Niche> niches_;
};

}  // namespace fa_tune::search
