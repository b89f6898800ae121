#pragma once

#include <vector>

#include "db/store.hpp"
#include "engine/run/final_race.hpp"

namespace fa_tune {

// Gives each trial that ran in the race its place and its row, best first. Those that nothing tells
// from the fastest stand first: of them the one with fewer registers, then with less shared memory,
// then the earlier trial, since what ties in time costs less of the GPU or was simpler to find. The
// others follow by their times. `trials`: all finalists, as race_finalists was given them.
std::vector<FinalRow> final_places(const std::vector<TrialRow>& trials, const FinalRace& race);

}  // namespace fa_tune
