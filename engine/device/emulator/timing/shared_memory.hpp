#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "engine/device/emulator/timing/product_queue.hpp"

namespace fa_tune::emulator {

// A simulated SM's shared memory and L1: wavefronts one after the other, through a port of each
// partition, in front of which instructions queue.
class SharedMemory {
 public:
  // Issue of an instruction must wait until then: only so much work may wait here.
  double open_from() const { return free_ - kQueueClocks; }

  struct Access {
    double open_from = 0;  // when the partition may issue another instruction
    double last = 0;       // when the last wavefront begins
  };
  // An access of a partition at `at`, of wavefronts that take `wavefront` clocks each and `busy` in all.
  // Its accesses begin in order, beside `products`.
  Access access(std::size_t partition, const ProductQueue& products, double at, double wavefront,
                double busy) {
    double& port_free = port_free_[partition];
    double& begun = begun_[partition];
    begun = products.lets_access_from(std::max({begun, port_free, at}));
    port_free = std::max(port_free, at) + std::max(kPortClocks, kPortClocksPerWavefront * busy);
    free_ = std::max(free_, begun) + busy * (products.runs_at(begun) ? kBesideProducts : 1);
    return {std::max(at, port_free - kPortQueueClocks),
            std::max(free_ - wavefront, begun + kPortClocksPerWavefront * (busy - wavefront))};
  }

 private:
  // Clocks in which the port between a partition and shared memory takes an instruction. It gives
  // half as many bytes a clock as shared memory gives (microbenchmarks on the H100).
  static constexpr double kPortClocks = 4;
  static constexpr double kPortClocksPerWavefront = 2;
  // Work that may wait in front of the port: five ldmatrix.x4. By Nsight Compute's samples of kernels
  // of mma.sync on an H200 six in a row are issued 4 clocks apart, 13 of them 5 to 6 (a log).
  static constexpr double kPortQueueClocks = 40;
  static constexpr double kQueueClocks = 48;
  static constexpr double kBesideProducts = 2;  // they read in every other clock

  double free_ = 0;
  std::array<double, kPartitions> port_free_{};
  std::array<double, kPartitions> begun_{};  // the last access of each partition
};

}  // namespace fa_tune::emulator
