#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/community/replay/score.hpp"
#include "engine/community/table/recorded_table.hpp"

namespace fa_tune::community {

// How far a replayed run goes: until both are used up, or nothing is left to try.
struct ReplayBudget {
  double ms = 0;
  std::size_t evaluations = 0;
};

// A table on which each seed's strategy first has a search of its own, to learn from it: another
// shape, or another device, of the same kernel.
struct EarlierTable {
  const RecordedTable* table = nullptr;
  const space::Space* space = nullptr;
  std::size_t evaluations = 120;
};

struct ReplayOptions {
  std::string strategy;  // as make_strategy takes it
  std::size_t seeds = 100;
  int batch = 1;  // configs asked for at a time
  // Batches asked for before the first of them is told, beyond that one: as a search does whose
  // next kernels are compiled while others are timed.
  std::size_t ahead = 0;
  ReplayBudget budget;
  std::vector<EarlierTable> earlier = {};
  // A run ends as soon as it knows a time of at most this: at the table's optimum no figure of a
  // Scorer's changes any more.
  double enough_ms = 0;
  int jobs = 1;  // threads; the traces do not depend on them
};

// Runs a strategy on a table once for each seed, 1 to `seeds`: what it asks for is looked up, told
// with the recorded time and cost, and paid for at the first visit. One trace a seed, with every
// evaluation until its end. Throws UserError for a strategy that is not known.
std::vector<Trace> replay(const RecordedTable& table, const space::Space& space,
                          const ReplayOptions& options);

}  // namespace fa_tune::community
