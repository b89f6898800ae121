#pragma once

#include <expected>
#include <limits>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/measure/race.hpp"
#include "engine/measure/statistics.hpp"

namespace fa_tune::measure {

struct Measurement {
  device::Timing timing;  // all samples kept
  Interval time_us;
};

// How much care a measurement takes.
enum class Effort {
  screen,  // every variant that passed: enough to rank it
  final_,  // the few that may be published: at least 100 samples, of launches of milliseconds 30
};

// Times one launch. It picks from a first look how many launches make a sample, so that a sample
// lasts long enough for the clock (200 us in a screen, a millisecond in a final measurement), then
// samples and summarizes. In a final measurement, samples of a throttled GPU are taken again after
// a pause, up to three times; those that are throttled then too stay and are marked. A device that
// predicts is asked once, in a final measurement for a complete launch.
//
// `slow_us`: a screen that sees a launch take longer than this ends with its first three samples of
// full length: enough to know that it is slow. Where something is restored, for launches of 200 us
// and more alone.
//
// `restore`: for the tensors that a launch writes over, see TimingPlan. Samples are of single
// launches then, and a screen has up to 100 of them.
std::expected<Measurement, device::Fault> measure(
    device::Device& device, const device::Launch& launch, Effort effort,
    double slow_us = std::numeric_limits<double>::infinity(),
    const device::BufferChanges& restore = {});

// The same with a cold second-level cache: 50 launches, each a sample. For devices that measure.
std::expected<Measurement, device::Fault> measure_cold(device::Device& device,
                                                       const device::Launch& launch,
                                                       const device::BufferChanges& restore = {});

struct LaunchRace {
  BlockRace result;
  bool by_cycles = false;               // its ratios are of cycles, else of times
  std::vector<device::Timing> timings;  // by contestant: all samples of good blocks
};

// A Fault of the device, and the contestant that ran at that moment.
struct RaceFault {
  std::size_t contestant = 0;
  device::Fault fault;
};

// Races launches on a device that measures, the first as the baseline. It runs the baseline until
// the clock falls no further, then the race begins. In a block, a kernel's time is the median of
// three samples, of a millisecond each or, with a cold cache, of one launch each. Throttled samples
// are taken again as in a final measurement, up to five times in the whole race. `restore` (see
// measure()) is for all contestants, because they have the same buffers. A block has up to 15
// samples then.
//
// If the clock wanders even so by more than 1%, as at the power limit, blocks compare cycles (time
// times clock), in which two launches one after the other differ by less than in time. The ratio
// does not include then what a kernel itself takes from the clock by drawing more power than
// others; ProcessSeries compares times as well. The times reported are as measured.
std::expected<LaunchRace, RaceFault> race_launches(device::Device& device,
                                                   const std::vector<device::Launch>& launches,
                                                   const RaceOptions& options = {},
                                                   device::L2 l2 = device::L2::warm,
                                                   const device::BufferChanges& restore = {});

}  // namespace fa_tune::measure
