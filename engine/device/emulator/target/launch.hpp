#pragma once

#include <cstdint>

namespace fa_tune::emulator {

struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;

  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

// How a kernel is started.
struct LaunchConfig {
  Dim3 grid;
  Dim3 block;
  Dim3 cluster;
  std::uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  bool programmatic = false;  // begins before the kernel in front of it has ended

  // How many clusters the grid has; its sides are multiples of the cluster's.
  std::uint64_t cluster_count() const { return grid.count() / cluster.count(); }
};

// What ptxas says a kernel takes, a thread or a block. -1 where it is not known.
struct KernelResources {
  int registers = -1;            // a thread
  int spill_store_bytes = -1;    // a thread
  int spill_load_bytes = -1;     // a thread
  int stack_bytes = -1;          // a thread
  int static_shared_bytes = -1;  // a block
};

}  // namespace fa_tune::emulator
