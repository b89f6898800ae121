#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/space/genome.hpp"
#include "engine/space/space.hpp"

namespace fa_tune::search {

// Where a gene does nothing: configs whose trials turned out to have one kernel, to the last byte
// of machine code. An unroll factor means nothing to a loop of one step, and nothing more from the
// number of steps on. What is learned of two configs that differ in one gene is taken to hold
// wherever another gene has the value that it had there: a guess, so a search tries what is likely
// a twin last, and not never.
class Twins {
 public:
  explicit Twins(const space::Space& space);

  // A config that is going to be tried; told later, or never.
  void take(const space::Genome& genome);
  // What became of one: `number` is its trial's, `twin` that of the earlier trial whose kernel it
  // has, or 0. Trials that gave no kernel are not told.
  void tell(const space::Genome& genome, std::uint64_t number, std::uint64_t twin);
  // Whether it is likely to have the kernel of a config that was taken.
  bool likely(const space::Genome& genome) const;

 private:
  // Of one gene, where another has one value: which of its values give one kernel.
  class Rule {
   public:
    // Two values that gave one kernel, or did not, where all other genes were `rest`.
    void add(space::Gene a, space::Gene b, bool same, bool ordered, const space::Genome& rest);
    bool says(space::Gene a, space::Gene b) const;

   private:
    space::Gene group(space::Gene value) const;
    void join(space::Gene a, space::Gene b);

    std::map<space::Gene, space::Gene> group_;  // union-find; a value that is missing is alone
    std::vector<std::pair<space::Gene, space::Gene>> different_;
    space::Genome rest_;     // of the first pair with one kernel
    bool repeated_ = false;  // elsewhere too
  };
  struct Sibling {
    space::Gene value = 0;
    std::uint64_t kernel = 0;  // the number of the first trial with it; 0: not known
  };
  using Context = std::pair<std::size_t, space::Gene>;  // another gene, its value

  void enter(const space::Genome& genome);
  void compare(std::size_t gene, const space::Genome& genome, std::uint64_t kernel);
  bool has_twin(std::size_t gene, const space::Genome& genome) const;

  std::vector<bool> ordered_;                                     // by gene
  std::vector<std::map<Context, Rule>> rules_;                    // by gene
  std::vector<space::GenomeMap<std::vector<Sibling>>> siblings_;  // by gene, which is 0 in the key
  std::unordered_map<std::uint64_t, std::uint64_t> kernels_;      // by number
  std::vector<space::Genome> taken_;                              // before the first twin
  std::vector<std::pair<space::Genome, std::uint64_t>> told_;
  bool any_ = false;  // whether there were twins
};

}  // namespace fa_tune::search
