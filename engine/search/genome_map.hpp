#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "engine/space/genome.hpp"

namespace fa_tune {

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

}  // namespace fa_tune
