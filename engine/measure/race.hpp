#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <vector>

#include "engine/device/device.hpp"

namespace fa_tune::measure {

// Compares several kernels within one process. Clocks drift, throttle and step, so times taken one
// kernel after the other do not compare. A race runs in blocks: the baseline, the others in a newly
// drawn order, the baseline again. A kernel's figure in a block is its time over the mean of the
// block's two baselines, in which every drift slower than a block cancels (a linear one exactly).
// Its result is the median over blocks. A block whose two baselines differ by more than
// `most_drift` is void. If a third of them do, because the clock never keeps still (as on a GPU at
// its power limit), the limit is `restless` times the median drift instead, up to
// `most_drift_ever`; beyond that nothing can be told.
//
// A race gives no intervals: those need several processes (ProcessSeries).
struct RaceOptions {
  std::uint64_t seed = 1;
  int good_blocks = 8;   // then the race is over; more tell little of one process
  int most_blocks = 12;  // void ones count
  double most_drift = 0.02;
  double restless = 3;
  double most_drift_ever = 0.15;
};

struct BlockRace {
  // By contestant: its time over the baseline's. The baseline is the first and has 1. NaN if no
  // block was good.
  std::vector<double> ratios;
  std::vector<bool> good;  // by block: that it is not void

  int blocks() const { return static_cast<int>(good.size()); }
  int good_blocks() const;
};

// Takes one time of a contestant, in microseconds, for a block numbered from 0.
using RaceClock =
    std::function<std::expected<double, device::Fault>(std::size_t contestant, int block)>;

// Races contestants 0 (the baseline) to count - 1; count is at least 2. The result depends only on
// the seed and on the times. A Fault of the clock ends the race.
std::expected<BlockRace, device::Fault> race(std::size_t count, const RaceClock& clock,
                                             const RaceOptions& options = {});

}  // namespace fa_tune::measure
