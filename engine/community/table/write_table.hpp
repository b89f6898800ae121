#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/community/table/recorded_table.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune::community {

// One trial as others record it. Times in ms.
struct RecordedTrial {
  Config config;
  std::optional<double> time_ms;  // nothing where it failed
  std::vector<double> samples_ms;
  double compile_ms = 0;
  double verification_ms = 0;
  double benchmark_ms = 0;
  Failure failure = Failure::none;
  std::string timestamp;  // UTC, ISO 8601
};

// A run to be written for other tools.
struct RecordedRun {
  std::string device;
  std::string kernel;
  std::vector<std::int64_t> problem_size;
  std::vector<std::pair<std::string, std::string>> facts;  // what else is worth keeping, for people
  std::vector<RecordedTrial> trials;
};

// A cachefile that Kernel Tuner reads and simulates on, with the facts as further keys. A parameter
// that a config does not have is null, as Python's None.
std::string cachefile_text(const RecordedRun& run);

// T4, version 1.0.0, with the facts among its metadata. A parameter that a config does not have is
// left out.
std::string t4_text(const RecordedRun& run);

}  // namespace fa_tune::community
