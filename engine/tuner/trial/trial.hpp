#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "engine/gate/gate.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune {

// A trial after its last stage, with its samples: what one transaction writes.
struct FinishedTrial {
  TrialRow row;
  std::int64_t twin = 0;  // the number of the trial that this one is a duplicate of
  std::vector<double> samples_us;
  std::string source_text;
};

// Ends a trial: its outcome is "refused" then. The second says at which stage.
void refuse(TrialRow& row, const Rejection& rejection);
void refuse(FinishedTrial& trial, const std::string& stage, const Rejection& rejection);

// The seed of everything that a run draws for its trials' gates and clock, apart from the search's
// own.
struct TrialSeeds {
  std::uint64_t gate = 0;
  std::uint64_t timing = 0;

  // `seed`: the run's.
  static TrialSeeds of(std::uint64_t seed);
};

// What the trials of a run are gated on. The rest of the timed shape is for the finals; where it is
// large an emulator sees it only there, and trials that are right say so until then.
inline constexpr const char* not_at_timed_size =
    "not gated at the timed size, which finals do: it is large for an emulator";
std::vector<GateCase> cases_of_trials(const TuningTask& task, const Device& device,
                                      TrialSeeds seeds);

}  // namespace fa_tune
