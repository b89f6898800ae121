#pragma once

#include <string>

#include "engine/device/emulator/ir/program.hpp"
#include "engine/device/emulator/target/launch.hpp"
#include "engine/device/emulator/target/profile.hpp"
#include "engine/device/emulator/trace/record.hpp"

namespace fa_tune::emulator {

struct Prediction {
  double us = 0;
  // What takes most of the time: a unit that is busy for most of it ("tensor", "shared memory",
  // "issue", "l2", "dram", ...), "launch", or "waits for ..." where nothing is.
  std::string bound_by;
  // A JSON object: occupancy, how long each unit works, what a warp waits for, the counters of the
  // whole grid, the source lines with the most bank conflicts. counters_report makes a text of it.
  std::string detail_json;
};

// A time from CTAs that ran. The model is described in timing_model.cpp. `record` may hold a sample
// of the grid's CTAs; `reachable_bytes`: of the global memory that the launch was given.
Prediction predict(const DeviceProfile& profile, const KernelResources& resources,
                   const LaunchConfig& launch, const Program& program, const Record& record,
                   double reachable_bytes);

// A table for a person, at most 100 columns wide, from a prediction's detail_json: what bounds the
// kernel, how long each unit works, occupancy and what limits it, what warps wait for, sectors a
// request, the source lines with the most bank conflicts. Empty for a text that is no such object.
std::string counters_report(const std::string& detail_json);

}  // namespace fa_tune::emulator
