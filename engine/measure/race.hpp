#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/measure/statistics.hpp"

namespace fa_tune {

// Which of several kernels is fastest, told from noise. Clocks drift, throttle and step, so times
// taken one kernel after the other do not compare. A race runs in blocks: the baseline, the others
// in an order drawn anew, the baseline again. What counts is the logarithm of a kernel's time over
// the mean of the block's two baselines, in which every drift slower than a block cancels (a linear
// one exactly), and of these the median over blocks, with a seeded percentile bootstrap interval. A
// block whose two baselines differ by more than `most_drift` is void. Where a third do, since the
// clock never keeps still, as that of a GPU at its power limit, the line is drawn at `restless`
// times the median drift instead, up to `most_drift_ever`: beyond it nothing can be told.
struct RaceOptions {
  std::uint64_t seed = 1;
  int fewest_blocks = 16;         // before the first look
  int most_blocks = 256;          // the budget; void ones count
  double tie_half_width = 0.005;  // of the ratio: two kernels nearer than this need no more blocks
  double most_drift = 0.02;
  double restless = 3;
  double most_drift_ever = 0.15;
  double confidence = 0.95;  // of the whole race: all looks at all pairs share what is left to 1
  int resamples = 2000;
};

// What two loads of the very same kernel may differ by, with one set of buffers: on an H100, in 50
// processes, 0.13% at most (tools/bench/results/aa, judged by the interval alone), for certain,
// since it is where their code lies and no noise. A difference counts from twice that on, and what
// is less ties: a user's process has a place of its own for either.
inline constexpr double kLeastDifference = 0.0025;

// A kernel's time over another's, with the interval that the race's confidence gives. Slower and
// faster are for certain: all of the interval is beyond the least difference that counts.
struct RaceRatio {
  double ratio = 1;
  double low = 1;
  double high = 1;

  bool slower() const { return low > 1 + kLeastDifference; }
  bool faster() const { return high < 1 / (1 + kLeastDifference); }
  bool tied() const { return !slower() && !faster(); }
};

// "slower", "faster" or "tie".
std::string verdict_text(const RaceRatio& ratio);
// An end of its interval; nothing where that is boundless.
std::optional<double> known_bound(double bound);

// Before there were blocks enough for a look all ratios are 1, anywhere from 0 to infinity.
struct RaceStanding {
  RaceRatio to_baseline;
  RaceRatio to_winner;      // of the winner itself exactly 1
  Estimate time_us = {};    // of its times in good blocks; 95%
  bool eliminated = false;  // not timed to the end, since it was slower for certain
  int blocks = 0;           // good ones it ran in
};

struct RaceResult {
  std::vector<RaceStanding> standings;  // as the contestants are numbered, the baseline first
  std::size_t winner = 0;               // with the least median
  int blocks = 0;                       // run, void ones included
  int void_blocks = 0;
  std::vector<bool> good;  // of each block run: that it is not void
  // Nothing was left to learn: every pair with the winner is told apart or tied closely. Else the
  // budget ended it, or too few blocks were good.
  bool settled = false;

  // Contestants that are not slower than the winner, itself included.
  std::vector<std::size_t> tied_first() const;
};

// One time in microseconds of a contestant, taken now, for a block numbered from 0.
using RaceClock = std::function<std::expected<double, Fault>(std::size_t contestant, int block)>;

// Races contestants 0 (the baseline) to count - 1; count is at least 2. A function of its seed and
// of what the clock says. Looks are taken where the number of good blocks has doubled, and at the
// end, since who looks after every block finds a winner in any noise. Contestants that are slower
// for certain than the one ahead drop out, but for the baseline. A Fault of the clock ends the
// race.
std::expected<RaceResult, Fault> race(std::size_t count, const RaceClock& clock,
                                      const RaceOptions& options);

}  // namespace fa_tune
