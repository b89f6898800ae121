#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/measure/sampler.hpp"
#include "engine/measure/statistics.hpp"

namespace fa_tune::measure {

// The least difference of two kernels that counts; less is a tie. Two loads of the same kernel,
// with one set of buffers, differ by up to 0.13% on an H100, in 50 processes
// (tools/bench/results/aa, by the interval alone). That is no noise, because it is where their code
// lies. A user's process has other places for either kernel. So the limit is twice that.
inline constexpr double kLeastDifference = 0.0025;

// For the ratio of two kernels' times. `slower` and `faster` are certain: all of the interval is
// beyond the least difference that counts.
inline bool is_slower(const Interval& ratio) { return ratio.low > 1 + kLeastDifference; }
inline bool is_faster(const Interval& ratio) { return ratio.high < 1 / (1 + kLeastDifference); }
inline bool is_tied(const Interval& ratio) { return !is_slower(ratio) && !is_faster(ratio); }

// "slower", "faster" or "tie".
std::string verdict_text(const Interval& ratio);

struct RaceStanding {
  Interval to_baseline;   // its time over the baseline's
  Interval to_winner;     // its time over the winner's; the winner has exactly 1
  Interval time_us = {};  // the mean over processes; 95%
  int blocks = 0;         // good ones that it ran in
};

struct RaceResult {
  std::vector<RaceStanding> standings;  // as the contestants are numbered, the baseline first
  std::size_t winner = 0;               // with the least mean
  int blocks = 0;                       // that were run, void ones included
  int void_blocks = 0;

  // The contestants that are not slower than the winner, the winner included.
  std::vector<std::size_t> tied_first() const;
};

struct SeriesRace {
  RaceResult result;
  std::vector<device::Timing> timings;  // by contestant: all samples of good blocks
};

// Joins the races of one comparison, each in a process of its own. Where a kernel and its buffers
// lie in memory is drawn anew in each process and constant within it. On an H100 the cycles of one
// kernel differed by 1.8% over 8 processes whose own intervals were 0.1% wide
// (tools/bench/results/repeat/h100_one_process.json). So the blocks of one process say how sure one
// is of that process; only several processes tell what a user will see. Therefore processes are
// counted: each contestant has one figure a process, its logarithm is taken, and each pair gets the
// mean of its differences with Student's t for its interval (Kalibera and Jones, Rigorous
// Benchmarking in Reasonable Time, ISMM 2013: vary what varies at the highest level first). Eight
// differences say little of their spread. So a pair's spread is never taken for less than that of
// all pairs together (the residual of a two-way layout, whose degrees of freedom it has), and for
// more if its own is wider: some kernels wander more than others (process_series_test.cpp tries
// some that do so ten times as much).
//
// Intervals hold together (Bonferroni). Those to the baseline, which was chosen before the race,
// divide the error rate among the other contestants. The winner is chosen by the same figures that
// it is compared by, so those to it divide it among all pairs.
//
// Where the clock wanders, races compare cycles, on the assumption that two kernels one after the
// other meet the same clock. At a power limit they need not: a kernel that draws more power lowers
// its own clock, and a user waits for time. So where times vary less than half as much over the
// processes as cycles do, times are compared. If times and cycles of two kernels say different
// things for certain, their times count. This choice has its price: each interval is as wide as if
// both were reported.
class ProcessSeries {
 public:
  // With eight processes, 95 races of 100 find the one kernel of twelve that takes 2% less where
  // places make 0.3%, and of eight where they make 0.5% (tools/bench/trial/race.cpp).
  static constexpr int kProcesses = 8;
  static constexpr int kFewest = 3;  // the fewest good races that give a result
  static constexpr double kConfidence = 0.95;

  explicit ProcessSeries(std::size_t contestants) : of_(contestants) {}

  // Adds a race that was run in a new process with the usual number of blocks. One with fewer good
  // blocks does not count. `ran` lists its contestants, as this series numbers them.
  void add(const std::vector<std::size_t>& ran, const LaunchRace& raced);

  int processes() const { return processes_; }  // with enough good blocks
  // The result for the contestants `ran`, which were in all races: standings and timings in that
  // order, the first as the baseline. `confidence` is that all intervals to the baseline hold
  // together, and likewise those to the winner; the intervals of times are 95%. With one process
  // intervals are boundless. There must be at least one process.
  SeriesRace result(const std::vector<std::size_t>& ran, double confidence = kConfidence) const;

 private:
  struct Figures {
    std::vector<double> log_ratio;  // over its race's baseline, as the race compared, one a race
    std::vector<double> log_us;
    int blocks = 0;
    device::Timing timing;
  };

  int processes_ = 0;
  int blocks_ = 0;
  int void_blocks_ = 0;
  bool by_cycles_ = false;  // in any process
  std::vector<Figures> of_;
};

}  // namespace fa_tune::measure
