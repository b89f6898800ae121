#pragma once

#include <cstddef>
#include <expected>
#include <map>

#include "engine/device/cuda/cuda_context.hpp"

namespace fa_tune::cuda {

// Device memory that is kept when it is given back, for the next who asks for as much: a trial asks
// for some 70 buffers, mostly of the same sizes as the one before, and the driver takes longer for
// one than a kernel runs.
class MemoryPool {
 public:
  struct Block {
    OwnedMemory memory;
    std::size_t bytes = 0;
  };

  // At least `bytes` of it. What is kept is let go where the driver has no more to give.
  std::expected<Block, Fault> take(CudaContext& context, std::size_t bytes);
  // Wiped, so that no kernel finds there what another has left.
  void give_back(CudaContext& context, Block block);

 private:
  static constexpr std::size_t kMostKept = std::size_t{1} << 30;

  std::multimap<std::size_t, OwnedMemory> kept_;  // by size
  std::size_t kept_bytes_ = 0;
};

}  // namespace fa_tune::cuda
