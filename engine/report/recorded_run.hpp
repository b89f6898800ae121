#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "engine/community/table/write_table.hpp"

namespace fa_tune::report {

// What a run found and how, a line a trial: its number, config, operation, parents with the genes
// that changed, stage, outcome, finding, source, code, what it is a duplicate of. Nothing that
// depends on a clock is in it: no durations, no instants, and times of kernels only where they are
// predicted. So two runs of one seed have the same fingerprint, also if one of them was killed and
// resumed. Ids of the database do not matter.
std::vector<std::string> run_fingerprint_lines(const db::Store& store, std::int64_t run);

// SHA-256 of those lines.
std::string run_fingerprint(const db::Store& store, std::int64_t run);

// A run of the database as other tools record one: every trial, with what it cost and gave. A
// duplicate has the time of the trial whose kernel it shares, and cost only what it cost itself.
// Whether times were measured or predicted stands among the facts. Throws UserError where there is
// no such run, or one without trials.
community::RecordedRun run_table(const db::Store& store, std::int64_t id);

}  // namespace fa_tune::report
