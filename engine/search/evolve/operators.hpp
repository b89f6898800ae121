#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "engine/search/archive.hpp"
#include "engine/search/strategy.hpp"
#include "engine/search/surrogate/candidate_pool.hpp"
#include "engine/space/space.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::search {

// How a child differs from its parents. Every child is valid.
//   mutate     one gene, half of the time by one place in the list of its values
//   link       two genes that hang together, to values that neither could take alone
//   leap       two to four genes, one valid step after the other
//   crossover  genes of two parents, repaired to the nearest valid config
//   random     none: drawn from the whole space
inline constexpr std::array<std::string_view, 5> kOperatorNames = {"mutate", "link", "leap",
                                                                   "crossover", "random"};

class Operators {
 public:
  explicit Operators(const space::Space& space) : space_(space) {}

  // A child by one of operator_names. An operator that finds nothing to change, or lacks a second
  // parent, gives a random one.
  Candidate child(std::size_t which, const std::vector<Member>& parents, Random& random) const;

  // All that differ from a config in one gene; of those in which genes appear, some.
  const std::vector<space::Genome>& around(const space::Genome& genome, Random& random) const;

 private:
  Candidate random_child(Random& random) const;
  // To one of the configs in near_; false if there is none.
  bool step(space::Genome& genome, Random& random) const;
  // One gene, half of the time by one place.
  bool mutate(space::Genome& genome, Random& random) const;

  const space::Space& space_;
  mutable std::vector<space::Genome> near_;
};

// The fastest configs of earlier runs that are valid here, in turns from each run, `most` in all.
// Two of them differ in at least two genes: a run's fastest are mostly one config and its
// neighbours.
std::vector<space::Genome> configs_to_transfer(const space::Space& space,
                                               const std::vector<PriorTrials>& earlier,
                                               std::size_t most);

}  // namespace fa_tune::search
