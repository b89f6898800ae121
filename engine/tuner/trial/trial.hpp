#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "engine/gate/gate.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune::tuner {

// A trial after its last stage, with its samples: what one transaction writes.
struct FinishedTrial {
  db::TrialRow row;
  std::int64_t twin = 0;  // the number of the trial that this one is a duplicate of
  std::vector<double> samples_us;
  std::string source_text;
};

// Ends a trial as failed. The second also sets the stage.
void fail(db::TrialRow& row, const Rejection& rejection);
void fail(FinishedTrial& trial, const std::string& stage, const Rejection& rejection);

// The seeds of everything that a run draws for its trials' gates and clock. The search has its own.
struct TrialSeeds {
  std::uint64_t gate = 0;
  std::uint64_t timing = 0;

  // `seed`: the run's.
  static TrialSeeds of(std::uint64_t seed);
  friend bool operator==(const TrialSeeds&, const TrialSeeds&) = default;
};

// The cases that the trials of a run are gated on. Finals gate the rest of the timed shape. Where
// that is large an emulator meets it only in the finals, and trials that passed say so until then.
inline constexpr const char* kNotAtTimedSize =
    "not gated at the timed size, which finals do: it is large for an emulator";
std::vector<gate::GateCase> cases_of_trials(const problem::Problem& problem,
                                            const device::Device& device, TrialSeeds seeds);

// The timed shape, then those of the cases, each once.
std::vector<Constants> shapes_of(const problem::Problem& problem,
                                 const std::vector<gate::GateCase>& cases);

}  // namespace fa_tune::tuner
