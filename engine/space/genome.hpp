#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace fa_tune::space {

// A config as digits: one a parameter, in the order of Space::parts().parameters; the position of
// the parameter's value among Parameter::values, or `inactive_gene` where the parameter does not
// exist. What strategies compute with; a Config is for people, templates and rows.
using Gene = std::uint16_t;
using Genome = std::vector<Gene>;

inline constexpr Gene kInactiveGene = 0xFFFF;

// Which valid configs count as near one; Space::neighbors lists them. Genes that appear or vanish
// because another one changed do not count as changed, and those that appear take every value.
enum class Neighborhood {
  // One gene moves by one place in the list of its values. Text has no order: its genes do not
  // move.
  adjacent,
  // One gene takes any other value.
  one_gene,
  // Two genes that share a constraint, a derived value or a `when` change at once, to values that
  // neither could take alone: what no two valid moves of one gene reach. Of pairs with more than
  // `most_pair_values` combinations, those where one of the two moves by one place.
  linked,
};

inline constexpr std::size_t kMostPairValues = 4096;

// For tables of genomes (FNV-1a over the digits). Look-ups only: the order of such a table differs
// between libraries, so a search must never walk through one.
struct GenomeHash {
  std::size_t operator()(const Genome& genome) const {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const Gene gene : genome) hash = (hash ^ gene) * 0x100000001b3ULL;
    return static_cast<std::size_t>(hash ^ (hash >> 32));
  }
};

using GenomeSet = std::unordered_set<Genome, GenomeHash>;

template <typename T>
using GenomeMap = std::unordered_map<Genome, T, GenomeHash>;

}  // namespace fa_tune::space
