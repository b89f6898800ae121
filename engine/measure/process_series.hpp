#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/measure/sampler.hpp"
#include "engine/measure/statistics.hpp"

namespace fa_tune {

// What two loads of the very same kernel may differ by, with one set of buffers: on an H100, in 50
// processes, 0.13% at most (tools/bench/results/aa, judged by the interval alone), for certain,
// since it is where their code lies and no noise. A difference counts from twice that on, and what
// is less ties: a user's process has a place of its own for either.
inline constexpr double kLeastDifference = 0.0025;

// Of a kernel's time over another's. Slower and faster are for certain: all of the interval is
// beyond the least difference that counts.
inline bool is_slower(const Interval& ratio) { return ratio.low > 1 + kLeastDifference; }
inline bool is_faster(const Interval& ratio) { return ratio.high < 1 / (1 + kLeastDifference); }
inline bool is_tied(const Interval& ratio) { return !is_slower(ratio) && !is_faster(ratio); }

// "slower", "faster" or "tie".
std::string verdict_text(const Interval& ratio);

struct RaceStanding {
  Interval to_baseline;   // its time over theirs
  Interval to_winner;     // of the winner itself exactly 1
  Interval time_us = {};  // the mean over processes; 95%
  int blocks = 0;         // good ones it ran in
};

struct RaceResult {
  std::vector<RaceStanding> standings;  // as the contestants are numbered, the baseline first
  std::size_t winner = 0;               // with the least mean
  int blocks = 0;                       // run, void ones included
  int void_blocks = 0;

  // Contestants that are not slower than the winner, itself included.
  std::vector<std::size_t> tied_first() const;
};

struct SeriesRace {
  RaceResult result;
  std::vector<Timing> timings;  // by contestant: all samples of good blocks
};

// The races of one question, each in a process of its own. Where a kernel and its buffers come to
// lie in memory is another draw in each process, the same within one: on an H100 the cycles of one
// kernel differed by 1.8% over 8 processes whose own intervals were 0.1% wide
// (tools/bench/results/repeat/h100_one_process.json). So blocks of one process say how sure one is
// of that process; what a user will see is told by processes, and these are what is counted: of
// each contestant and process one figure, the logarithm of it, and of each pair the mean of its
// differences with Student's t for its interval (Kalibera and Jones, Rigorous Benchmarking in
// Reasonable Time, ISMM 2013: vary what varies at the highest level first). Eight differences say
// little of their spread, so a pair's is never taken for less than that of all pairs together (the
// residual of a two-way layout, whose degrees of freedom it has), and for more where its own are
// wider: some kernels wander more than others (process_series_test.cpp tries some that do so ten
// times as much).
//
// Intervals hold together (Bonferroni): those to the baseline, which was chosen before the race,
// share what is left to 1 among the others; the winner is chosen by the very figures that it is
// compared by, so those to it have a share among all pairs.
//
// Where the clock wanders, races compare cycles, in the belief that two kernels one after the other
// meet the same clock. At a power limit they need not: one that draws more power makes its own, and
// a user waits for time. So where times vary less than half as much over the processes as cycles
// do, times are what is compared; and of two of whom cycles and times say different things for
// certain, their times. Such a choice has its price: each interval is as wide as if both were told.
class ProcessSeries {
 public:
  // So many find the one of twelve that takes 2% less where places make 0.3%, and of eight where
  // they make 0.5%, in 95 races of 100 (tools/bench/race.cpp).
  static constexpr int kProcesses = 8;
  static constexpr int kFewest = 3;  // that say something, where some were disturbed
  static constexpr double kConfidence = 0.95;

  explicit ProcessSeries(std::size_t contestants) : of_(contestants) {}

  // A race in a new process, held with the usual number of blocks; one that has fewer good ones
  // does not count. `ran` says who its contestants were, as this series numbers them.
  void add(const std::vector<std::size_t>& ran, const LaunchRace& raced);

  int processes() const { return processes_; }  // with good blocks enough
  // What all say of those of `ran`, who were in all of them: standings and timings in that order,
  // the first as the baseline. `confidence`: that all intervals to the baseline hold together, and
  // likewise those to the winner; the intervals of times are 95%. Of one process intervals are
  // boundless. At least one process.
  SeriesRace result(const std::vector<std::size_t>& ran, double confidence = kConfidence) const;

 private:
  struct Figures {
    std::vector<double> log_ratio;  // over its race's baseline, as the race compared, a race each
    std::vector<double> log_us;
    int blocks = 0;
    Timing timing;
  };

  int processes_ = 0;
  int blocks_ = 0;
  int void_blocks_ = 0;
  bool by_cycles_ = false;  // in any process
  std::vector<Figures> of_;
};

}  // namespace fa_tune
