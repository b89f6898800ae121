#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace fa_tune::tuner {

// Where the time of one session's search went, in seconds, as sums over all trials, devices or
// compilers. Trials that were recalled and the finals are not counted.
struct Breakdown {
  std::vector<std::string> devices;
  int jobs = 0;    // compilers, the most there were at a time
  int trials = 0;  // recorded in this session
  int gated = 0;   // of those, that came to a device
  double wall_s = 0;
  double compile_s = 0;    // in compilers, for recorded trials; 0 for what the cache had
  double compilers_s = 0;  // how long they were there
  double gate_s = 0;
  double time_s = 0;  // timing, with its proof
  // Of the device executors: at work (gate, time, loading); with nothing to do; and the part of
  // that in which the engine was busy with something else than waiting for compilers and devices.
  double busy_s = 0;
  double idle_s = 0;
  double idle_for_engine_s = 0;
  // Of the engine's thread: asking and telling the strategy; writing to the database.
  double search_s = 0;
  double store_s = 0;
  // The energy that all GPUs drew meanwhile; nothing if one of them did not tell.
  std::optional<double> joules = {};
};

nlohmann::ordered_json to_json(const Breakdown& breakdown);

// Lines for a person. The last one is advice, if there is any. None if nothing was gated.
std::vector<std::string> describe(const Breakdown& breakdown);

}  // namespace fa_tune::tuner
