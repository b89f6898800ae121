#pragma once

#include <cstdint>

#include "db/store.hpp"
#include "engine/community/table/write_table.hpp"

namespace fa_tune {

// A run of the database as other tools record one: every trial, with what it cost and gave. A
// duplicate has the time of the trial whose kernel it shares, and cost only what it cost itself.
// Whether times were measured or predicted stands among the facts. Throws UserError where there is
// no such run, or one without trials.
RecordedRun run_table(const Store& store, std::int64_t run);

}  // namespace fa_tune
