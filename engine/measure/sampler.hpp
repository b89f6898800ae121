#pragma once

#include <expected>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/measure/race.hpp"
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

// Races launches on a device that measures, the first as the baseline: a block's time of each is
// the median of three samples of 200 us.
std::expected<RaceResult, Fault> race_launches(Device& device, const std::vector<Launch>& launches,
                                               const RaceOptions& options);

}  // namespace fa_tune
