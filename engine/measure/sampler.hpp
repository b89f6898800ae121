#pragma once

#include <expected>
#include <limits>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/measure/race.hpp"
#include "engine/measure/statistics.hpp"

namespace fa_tune {

struct Measurement {
  Timing timing;  // all samples kept
  Interval time_us;
};

// How much care a measurement takes.
enum class Effort {
  screen,  // every right variant: enough to rank it
  final_,  // the few that may be published: at least 100 samples, of launches of milliseconds 30
};

// Times one launch: picks how many launches make a sample (so that a sample lasts long enough for
// the clock) from a first look, then samples and summarizes. In a final measurement, samples that a
// throttled GPU gave are taken again after a pause, up to three times; what is throttled then too
// stays and is marked. A device that predicts is asked once, in a final measurement for a complete
// launch.
//
// `slow_us`: of launches of 200 us and more, a screen that sees one take longer than this ends with
// its first three samples: enough to know that it is slow.
//
// `restore`: of what a launch writes over, see TimingPlan. Samples are of single launches then, and
// a screen has up to 100 of them.
std::expected<Measurement, Fault> measure(Device& device, const Launch& launch, Effort effort,
                                          double slow_us = std::numeric_limits<double>::infinity(),
                                          const BufferChanges& restore = {});

// The same with nothing of use in the second-level cache: 50 launches, each a sample. For devices
// that measure.
std::expected<Measurement, Fault> measure_cold(Device& device, const Launch& launch,
                                               const BufferChanges& restore = {});

struct LaunchRace {
  BlockRace result;
  bool by_cycles = false;       // what its ratios compare; else times
  std::vector<Timing> timings;  // by contestant: all samples of good blocks
};

// Who was under way when the device answered with a Fault.
struct RaceFault {
  std::size_t contestant = 0;
  Fault fault;
};

// Races launches on a device that measures, the first as the baseline. That runs until the clock
// falls no further under it, then it begins: a block's time of each is
// the median of three samples, of 200 us or, with a cold cache, of a launch each. Throttled samples
// are taken again as in a final measurement, up to five times in the whole race. `restore`, see
// measure(), is that of all: they have the same buffers. A block has up to 15 samples then.
//
// Where the clock wanders even so, by more than 1%, as at the power limit, blocks compare cycles
// (time times clock), in which two launches one after the other differ by less than in time.
// What a kernel itself takes from the clock, by drawing more power than others, is not in the ratio
// then; a ProcessSeries looks at times as well. Times are those measured all the same.
std::expected<LaunchRace, RaceFault> race_launches(Device& device,
                                                   const std::vector<Launch>& launches,
                                                   const RaceOptions& options = {},
                                                   L2 l2 = L2::warm,
                                                   const BufferChanges& restore = {});

}  // namespace fa_tune
