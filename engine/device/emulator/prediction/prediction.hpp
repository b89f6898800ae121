#pragma once

#include <limits>
#include <string>

#include "engine/device/emulator/ir/program.hpp"
#include "engine/device/emulator/prediction/recorded_errors.hpp"
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
  std::string bound_by;  // SimulatedLaunch::bound_by
  // A JSON object: occupancy, how long each unit works, what a warp waits for, the counters of the
  // whole grid, the source lines with the most bank conflicts. counters_report (trace/counters.hpp)
  // makes a text of it.
  // "simulated_us": before what such kernels are known to be off by, which is told from "features"
  // (kernel_features.hpp).
  // "interval": {"low_us", "high_us", "rests_on" (a sentence), "constants_us" (with all constants of
  // the profile fast, and slow; not where such a GPU has timed kernels like it), "kind" (of kernel),
  // "error" (the middle 90% of measured over predicted for that kind), "apart" (the ratio of two
  // predictions from which on the faster kernel was the faster one in 90% of recorded pairs)}; null
  // for what is not known.
  std::string detail_json;
};

// The time of a launch from CTAs of it that ran: what the model says (timing_model.hpp), with what
// it is off by for such kernels where the profile knows (residual_model.hpp), and an interval.
// `record` may hold a sample of the grid's CTAs; `reachable_bytes`: of the global memory that the
// launch was given.
Prediction predict(const DeviceProfile& profile, const KernelResources& resources,
                   const LaunchConfig& launch, const Program& program, const Record& record,
                   double reachable_bytes);

// Around a time, from those with the profile's constants at either end and the errors of its kind.
Interval90 interval_around(double us, double fastest_us, double slowest_us,
                           const RecordedErrors& errors);

}  // namespace fa_tune::emulator
