#pragma once

#include <vector>

#include "db/store.hpp"
#include "engine/tuner/finals/final_race.hpp"

namespace fa_tune {

// Gives each trial that ran in the race its place and its row, best first. Those that nothing tells
// from the fastest stand first. Of them, those within half a percent of the best figure are as good
// as each other: the one with fewer registers is first, then with less shared memory, then the
// earlier trial, since it costs less of the GPU or was simpler to find. Behind these the other ties
// by their figures: what a noisy race could not tell apart need not be equal. The others follow by
// their times. `trials`: all finalists, as race_finalists was given them.
std::vector<FinalRow> final_places(const std::vector<TrialRow>& trials, const FinalRace& race);

}  // namespace fa_tune
