#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <vector>

#include "engine/device/device.hpp"

namespace fa_tune {

// How several kernels compare within one process. Clocks drift, throttle and step, so times taken
// one kernel after the other do not compare. A race runs in blocks: the baseline, the others in an
// order drawn anew, the baseline again. What counts is a kernel's time over the mean of the block's
// two baselines, in which every drift slower than a block cancels (a linear one exactly), and of
// these the median over blocks. A block whose two baselines differ by more than `most_drift` is
// void. Where a third do, since the clock never keeps still, as that of a GPU at its power limit,
// the line is drawn at `restless` times the median drift instead, up to `most_drift_ever`: beyond
// it nothing can be told.
//
// How sure one may be is not said here: that is for several processes (ProcessSeries).
struct RaceOptions {
  std::uint64_t seed = 1;
  int good_blocks = 8;   // then it is over: what a process can tell is soon told
  int most_blocks = 12;  // void ones count
  double most_drift = 0.02;
  double restless = 3;
  double most_drift_ever = 0.15;
};

struct BlockRace {
  // Of each contestant's time to the baseline's, which is the first and has 1; NaN where no block
  // was good.
  std::vector<double> ratios;
  std::vector<bool> good;  // of each block run: that it is not void

  int blocks() const { return static_cast<int>(good.size()); }
  int good_blocks() const;
};

// One time in microseconds of a contestant, taken now, for a block numbered from 0.
using RaceClock = std::function<std::expected<double, Fault>(std::size_t contestant, int block)>;

// Races contestants 0 (the baseline) to count - 1; count is at least 2. A function of its seed and
// of what the clock says. A Fault of the clock ends the race.
std::expected<BlockRace, Fault> race(std::size_t count, const RaceClock& clock,
                                     const RaceOptions& options = {});

}  // namespace fa_tune
