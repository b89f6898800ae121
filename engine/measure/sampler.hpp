#pragma once

#include <expected>

#include "engine/device/device.hpp"
#include "engine/measure/statistics.hpp"

namespace fa_tune {

struct Measurement {
  Timing timing;  // all samples kept
  Estimate time_us;
};

// How much care a measurement takes.
enum class Effort {
  screen,  // every right variant: enough to rank it
  final_,  // the few that may be published: at least 100 samples
};

// Times one launch: picks how many launches make a sample (so that a sample lasts long enough for
// the clock) from a first look, then samples and summarizes. A device that predicts is asked once.
std::expected<Measurement, Fault> measure(Device& device, const Launch& launch, Effort effort);

}  // namespace fa_tune
