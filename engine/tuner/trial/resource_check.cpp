#include "engine/tuner/trial/resource_check.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/core.h>

namespace fa_tune::tuner {

std::optional<Rejection> check_resources(const TuningTask& task, const device::DeviceInfo& device,
                                         const KernelResources& resources,
                                         const LaunchConfig& launch) {
  const int shared =
      std::max(0, resources.static_shared_bytes) + static_cast<int>(launch.dynamic_shared_bytes);
  const int shared_limit = std::min(task.target.shared_per_block, device.shared_per_block);
  if (shared > shared_limit)
    return Rejection{"shared_memory", fmt::format("{} bytes of shared memory a block, {} are there",
                                                  shared, shared_limit)};
  const auto threads = static_cast<std::int64_t>(launch.block.count());
  if (threads > task.target.max_threads_per_block ||
      threads * resources.registers > task.target.registers_per_block)
    return Rejection{"registers",
                     fmt::format("{} threads of {} registers, a block has {}", threads,
                                 resources.registers, task.target.registers_per_block)};
  if (resources.spill_store_bytes > kMostSpillBytes)
    return Rejection{"spills", fmt::format("{} bytes a thread are spilled, at most {} are accepted",
                                           resources.spill_store_bytes, kMostSpillBytes)};
  return std::nullopt;
}

}  // namespace fa_tune::tuner
