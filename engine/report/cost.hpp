#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"

namespace fa_tune::report {

// What a run's searches took, by its sessions, the finals not included: time that GPUs were held,
// at work or not, which is what is paid for, and what they drew from the wall.
struct RunCost {
  double gpu_s = 0;              // seconds of all GPUs together; 0 where none ran
  std::optional<double> joules;  // of all GPUs; nothing where NVML did not tell it of a session
};

// `measured`: the run's times are, so that its devices were GPUs.
RunCost cost_of(const std::vector<db::SessionRow>& sessions, bool measured);

// By how many percent of its time the run's best is below the first trial that passed, a preset
// or drawn at random, both as they were screened. Nothing where there are no two times.
std::optional<double> percent_gained(const db::Store& store, std::int64_t run);

// Sentences without an end: "61.2 GPU seconds, 21.4 kJ, 0.05 at 3.00 a GPU hour", then the same for
// each percent gained. `price`: of a GPU hour, in whatever money it is. Empty where no GPU ran.
std::vector<std::string> cost_words(const RunCost& cost, std::optional<double> gained,
                                    std::optional<double> price);

}  // namespace fa_tune::report
