#pragma once

#include <vector>

#include "db/store.hpp"
#include "engine/tuner/finals/final_race.hpp"

namespace fa_tune::tuner {

// Ranks the trials that ran in the race, and makes the row of each, best first. Those that tie with
// the fastest come first. Of these, the ones within half a percent of the best figure count as
// equally fast: among them fewer registers come first, then less shared memory, then the lesser
// by its genes: what costs less of the GPU, and what another run would choose too. Then come the
// other ties by their figures: what a noisy race could not tell apart need not be equal. The others
// follow by their times. `trials` are all finalists, as race_finalists was given them.
std::vector<db::FinalRow> final_places(const std::vector<db::TrialRow>& trials,
                                       const FinalRace& race);

}  // namespace fa_tune::tuner
