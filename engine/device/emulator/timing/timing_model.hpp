#pragma once

#include <limits>
#include <string>

#include "engine/device/emulator/ir/program.hpp"
#include "engine/device/emulator/target/launch.hpp"
#include "engine/device/emulator/target/profile.hpp"
#include "engine/device/emulator/trace/record.hpp"

namespace fa_tune::emulator {

// The ends of a 90% interval, boundless where nothing is known.
struct Interval90 {
  double low_us = -std::numeric_limits<double>::infinity();
  double high_us = std::numeric_limits<double>::infinity();
};

struct Prediction {
  double us = 0;
  Interval90 interval;
  // What takes most of the time: a unit that is busy for most of it ("tensor", "shared memory",
  // "issue", "l2", "dram", ...), "launch", or "waits for ..." where nothing is.
  std::string bound_by;
  // A JSON object: occupancy, how long each unit works, what a warp waits for, the counters of the
  // whole grid, the source lines with the most bank conflicts. counters_report (trace/counters.hpp)
  // makes a text of it.
  // "interval": {"low_us", "high_us", "rests_on" (a sentence), "constants_us" (with all constants of
  // the profile fast, and slow), "kind" (of kernel), "error" (the middle 90% of measured over
  // predicted for that kind), "apart" (the ratio of two predictions from which on the faster kernel
  // was the faster one in 90% of recorded pairs)}; null for what is not known.
  std::string detail_json;
};

// A time from CTAs that ran, with its interval (prediction_interval.cpp). `record` may hold a sample
// of the grid's CTAs; `reachable_bytes`: of the global memory that the launch was given.
Prediction predict(const DeviceProfile& profile, const KernelResources& resources,
                   const LaunchConfig& launch, const Program& program, const Record& record,
                   double reachable_bytes);

// What the simulated SM does not see takes this much of its time. Set on the train variants.
inline constexpr double kModelBias = 1.04;

// The part of its clock that a GPU under load loses: of its power it has no more. `tensor_share`: of
// wgmma's rate; `bulk_bytes`: that bulk copies bring each SM in a clock.
double clock_loss(const DeviceProfile& profile, double tensor_share, double bulk_bytes);

// The time alone, by the model that timing_model.cpp describes.
Prediction predict_time(const DeviceProfile& profile, const KernelResources& resources,
                        const LaunchConfig& launch, const Program& program, const Record& record,
                        double reachable_bytes);

struct RecordedErrors;
// Around a time, from those with the profile's constants at either end and the errors of its kind.
Interval90 interval_around(double us, double fastest_us, double slowest_us,
                           const RecordedErrors& errors);

}  // namespace fa_tune::emulator
