#pragma once

#include <string>
#include <vector>

#include "db/store.hpp"
#include "engine/report/rows.hpp"

namespace fa_tune::report {

// The trials Store::best finds, with their runs, in its order.
std::vector<TrialOfRun> best_trials(const db::Store& store, const db::TrialFilter& filter);

// Of the trials of one run, in their order, the one to name where those that tie with the fastest
// are as good as it: of these the one with the fewest registers, then the least shared memory, then
// the first by its genes. Another run that finds the same kernels, in another order and with other
// noise, names the same one. Those that tie are what a race did not tell apart; without a race, what
// has the very same time. None of none.
std::vector<TrialOfRun> stable_pick(const std::vector<TrialOfRun>& trials);

// For a person: a table for each space, shape and device among them, since times of different ones
// do not compare.
std::string best_table(const std::vector<TrialOfRun>& trials);

// An array of objects, in order; stable:
//   trial, run, seed  integers        space, device, arch, verdict, source_hash  strings
//   config            object          time_us  {median, low, high, kind}, low and high may be null
//   final             final_json of a trial that was raced, else null; time_us is of a warm cache
//   plain_us          {median, low, high} of the run's plain kernel, as screened, or null
//   prediction        of a predicted time: {rests_on: what its 90% interval does, told_apart_from,
//                     not_told_apart}, the last two (a ratio, trials) of a run's first alone and
//                     else null; of a measured one null
std::string best_json(const std::vector<TrialOfRun>& trials);

// A header row and one row a trial, quoted as RFC 4180 says, lines ended by "\n":
//   trial,space,device,arch,config,time_us_median,time_us_low,time_us_high,time_kind,verdict,
//   source_hash,run,seed
// config is JSON in one field.
std::string best_csv(const std::vector<TrialOfRun>& trials);

}  // namespace fa_tune::report
