#pragma once

#include <algorithm>

namespace fa_tune::emulator {

// A simulated SM's shared memory and L1: wavefronts one after the other, through a port of each
// partition.
class SharedMemory {
 public:
  // Issue of an instruction must wait until then: only so much work may wait here.
  double open_from() const { return free_ - kQueueClocks; }

  struct Access {
    double port_free = 0;  // when the partition's port takes another instruction
    double last = 0;       // when the last wavefront begins
  };
  // An access at `at`, of wavefronts that take `wavefront` clocks each and `busy` in all.
  Access access(double at, double wavefront, double busy) {
    free_ = std::max(free_, at) + busy;
    return {at + std::max(kPortClocks, kPortClocksPerWavefront * busy),
            std::max(free_ - wavefront, at + kPortClocksPerWavefront * (busy - wavefront))};
  }

 private:
  // Clocks in which the port between a partition and shared memory takes an instruction. It gives
  // half as many bytes a clock as shared memory gives (microbenchmarks on the H100).
  static constexpr double kPortClocks = 4;
  static constexpr double kPortClocksPerWavefront = 2;
  static constexpr double kQueueClocks = 48;

  double free_ = 0;
};

}  // namespace fa_tune::emulator
