#pragma once

#include <cstddef>
#include <vector>

#include "engine/space/genome.hpp"
#include "engine/space/space.hpp"

namespace fa_tune::search {

// How unlike a config is to those taken before it: for the first trials, before there is anything
// to learn from. The values of a gene that are in order lie on a circle, where no value is further
// from the others than another is: on a line the corners of the space would be tried first.
class Spread {
 public:
  explicit Spread(const space::Space& space);

  void take(const space::Genome& genome) { taken_.push_back(genome); }
  std::size_t taken() const { return taken_.size(); }
  // The distance to the nearest one taken; infinite before the first. A gene that differs counts
  // between half and whole.
  double nearest(const space::Genome& genome) const;

 private:
  double apart(std::size_t gene, space::Gene a, space::Gene b) const;

  std::vector<double> circles_;  // a gene's number of values; 0 where they have no order
  std::vector<space::Genome> taken_;
};

}  // namespace fa_tune::search
