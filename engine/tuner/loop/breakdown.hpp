#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace fa_tune {

// Where the time of one session's search went: the trials that were recalled and the finals are not
// in it. Seconds; sums over all trials, devices or compilers.
struct Breakdown {
  std::vector<std::string> devices;
  int jobs = 0;    // compilers
  int trials = 0;  // recorded in this session
  int judged = 0;  // of those, came to a device
  double wall_s = 0;
  double compile_s = 0;  // in compilers, of recorded trials; 0 for what the cache had
  double gate_s = 0;
  double time_s = 0;  // the clock, and its proof
  // DeviceExecutor: at work (gate, time, loading); with nothing to do; of that, while the engine
  // was at something else than waiting for compilers and devices.
  double busy_s = 0;
  double idle_s = 0;
  double idle_for_engine_s = 0;
  // The engine's thread: asking and telling the strategy; writing to the database.
  double search_s = 0;
  double store_s = 0;
  // What all its GPUs drew from the wall meanwhile; nothing where one did not tell.
  std::optional<double> joules = {};
};

nlohmann::ordered_json to_json(const Breakdown& breakdown);

// Lines for people, the last one advice if some is due; none if nothing was judged.
std::vector<std::string> describe(const Breakdown& breakdown);

}  // namespace fa_tune
