#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/measure/race.hpp"
#include "engine/measure/sampler.hpp"

namespace fa_tune {

// The races of one question, each in a process of its own. Where a kernel and its buffers come to
// lie in memory is another draw in each process, the same within one: on an H100 the cycles of one
// kernel differed by 1.8% over 8 processes whose own intervals were 0.1% wide
// (tools/bench/results/repeat/h100_one_process.json). So blocks of one process say how sure one is
// of that process; what a user will see is told by processes, and these are what is counted: of
// each contestant and process one figure, the mean over processes of its logarithm, and Student's t
// for the interval (Kalibera and Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013: vary
// what varies at the highest level first).
//
// Where the clock wanders, races compare cycles, in the belief that two kernels one after the other
// meet the same clock. At a power limit they need not: one that draws more power makes its own, and
// a user waits for time. So where times vary less than half as much over the processes as cycles
// do, of all contestants together, times are what is compared; and of two of whom cycles and times
// say different things for certain, their times.
class ProcessSeries {
 public:
  // So many processes let a difference of 2% be told where places make 0.5% (tools/bench/race.cpp).
  static constexpr int kProcesses = 6;
  static constexpr int kFewest = 3;  // that say something, where some were disturbed
  // Blocks in each; what a process can tell is soon told.
  static RaceOptions options(std::uint64_t seed);

  explicit ProcessSeries(std::size_t contestants) : of_(contestants) {}

  // A race in a new process. `ran` says who its contestants were, as this series numbers them.
  void add(const std::vector<std::size_t>& ran, const LaunchRace& raced);

  int processes() const { return processes_; }  // with good blocks enough
  // What all say of those of `ran`, who were in all of them: standings and timings in that order,
  // the first as the baseline. `confidence` is that of all comparisons with the winner together;
  // the intervals of times are 95%. Of one process intervals are boundless. At least one process.
  LaunchRace result(const std::vector<std::size_t>& ran, double confidence = 0.95) const;

 private:
  struct Figures {
    std::vector<double> log_ratio;  // over its race's baseline, as the race compared, a race each
    std::vector<double> log_us;
    int blocks = 0;
    Timing timing;
  };
  enum class By { race, time };
  // What tells the contestants apart with less noise.
  By steadier(const std::vector<std::size_t>& ran) const;
  RaceRatio compare(std::size_t one, std::size_t other, By by, double confidence) const;

  int processes_ = 0;
  int blocks_ = 0;
  int void_blocks_ = 0;
  std::vector<Figures> of_;
};

}  // namespace fa_tune
