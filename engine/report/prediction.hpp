#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "db/store.hpp"

// How far a predicted time may be off, as the emulator has told it with each (what it says is in
// engine/device/emulator/prediction/prediction.hpp). Nothing of measured times, nor of those that an
// older fa-tune has predicted.

namespace fa_tune::report {

// The sentence that says what a trial's interval rests on; empty if there is none.
std::string interval_rests_on(const db::TrialRow& trial);

// Kernels that passed and that the model does not tell from a run's best, by their screens. Of
// those of its kind: which were predicted to take less than `ratio` times as long, since of two so
// near each other less than 90% were in the right order beside a GPU. Of other kinds, whose errors
// are others: those whose interval overlaps.
struct PredictedTies {
  double ratio = 1;
  std::vector<std::int64_t> of_kind;  // trials, the fastest first
  std::vector<std::int64_t> others;
};
// `trials`: of the run, in any order; `best` may be among them.
std::optional<PredictedTies> predicted_ties(const db::TrialRow& best,
                                            const std::vector<db::TrialRow>& trials);

// "4 more within 1.11 times its time, which the model does not tell apart (trials 12, 40, ...)".
std::string ties_text(const PredictedTies& ties);
// {"rests_on", "told_apart_from": the ratio, "not_told_apart": trials}; null where nothing is known.
nlohmann::ordered_json prediction_json(const db::TrialRow& best,
                                       const std::optional<PredictedTies>& ties);

}  // namespace fa_tune::report
