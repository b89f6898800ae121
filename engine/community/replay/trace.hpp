#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/community/replay/score.hpp"

namespace fa_tune::community {

// Recorded runs of one tuner on one table, ours or another's.
struct TunerTraces {
  std::string tuner;
  std::string table;  // RecordedTable::name
  std::vector<Trace> runs;
};

// Reads traces from CSV, plain or gzip, with the columns
//   tuner,table,seed,evaluation,key,time_ms,elapsed_ms
// one row a step, those of a run in order; see Step for what they mean and what may be left out.
// `key` names the config for people and is not read; fields may stand in double quotes. Grouped by
// tuner and table in the order of their first rows. Throws UserError with the line.
std::vector<TunerTraces> read_traces(const std::filesystem::path& path);

}  // namespace fa_tune::community
