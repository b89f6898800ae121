#pragma once

#include <string>
#include <vector>

#include "engine/community/replay/summary.hpp"

namespace fa_tune {

// What `fa-tune replay` prints: a row for each tuner and table, and for each tuner on several
// tables its mean.
std::string replay_table(const std::vector<ReplaySummary>& summaries);
// {"tuners": [{"tuner", "score": {mean, low, high}, "evaluations_to": {"10", "5", "2", "1"},
// ...}]}; the first tuner's `score` and `evaluations_to` stand at the top as well.
std::string replay_json(const std::vector<ReplaySummary>& summaries);

}  // namespace fa_tune
