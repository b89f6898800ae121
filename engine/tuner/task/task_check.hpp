#pragma once

#include <string>
#include <vector>

#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune::tuner {

// What is wrong with a task, as far as it can be seen before anything is compiled. Each is one line
// that begins with its place and says what to do.
struct TaskFindings {
  std::vector<std::string> errors;    // no kernel can be right
  std::vector<std::string> warnings;  // some may be, or the text alone does not tell
};

// What the sources say beside the space: a kernel's name, the number of its arguments, names that
// parameters' #define lines would change. Sees no macros expanded (source::declarations), and warns
// only where one may make what is missing.
TaskFindings check_sources(const TuningTask& task);

// Launches that CUDA or the target refuses, of all valid configs where these are few, else of a
// sample of them, at each size that is gated or timed.
TaskFindings check_launches(const TuningTask& task);

}  // namespace fa_tune::tuner
