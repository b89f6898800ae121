// How many CTAs fit on an SM, by the rules of the CUDA occupancy calculator (cuda_occupancy.h of
// the toolkit): threads, blocks, registers and shared memory each set a limit, the least one
// counts.

#include "engine/device/emulator/target/occupancy.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>

namespace fa_tune::emulator {

namespace {

constexpr std::int64_t kWarpThreads = 32;
constexpr std::int64_t kUnlimited = INT_MAX;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return unit > 0 ? ceil_div(value, unit) * unit : value;
}

std::int64_t register_limit(const DeviceProfile& profile, const KernelResources& resources,
                            std::int64_t warps) {
  if (resources.registers <= 0) return kUnlimited;
  if (resources.registers > profile.max_registers_per_thread) return 0;
  const std::int64_t per_warp =
      round_up(resources.registers * kWarpThreads, profile.register_allocation_unit);
  // The hardware checks a launch as if every partition held the same number of the block's warps.
  if (per_warp * round_up(warps, kPartitions) > profile.registers_per_block) return 0;
  const std::int64_t warps_per_partition = profile.registers_per_sm / kPartitions / per_warp;
  return warps_per_partition * kPartitions / warps;
}

std::int64_t shared_limit(const DeviceProfile& profile, const KernelResources& resources,
                          const LaunchConfig& launch) {
  const std::int64_t asked = std::max(resources.static_shared_bytes, 0) +
                             static_cast<std::int64_t>(launch.dynamic_shared_bytes);
  if (asked > profile.shared_per_block) return 0;
  const std::int64_t allotted =
      round_up(asked + profile.shared_reserved_per_block, profile.shared_allocation_unit);
  return allotted > 0 ? profile.shared_per_sm / allotted : kUnlimited;
}

}  // namespace

Occupancy occupancy(const DeviceProfile& profile, const KernelResources& resources,
                    const LaunchConfig& launch) {
  const auto threads = static_cast<std::int64_t>(launch.block.count());
  const std::int64_t warps = std::max<std::int64_t>(ceil_div(threads, kWarpThreads), 1);
  const auto blocks = static_cast<std::int64_t>(launch.grid.count());

  struct Limit {
    const char* name;
    std::int64_t blocks;
  };
  const std::int64_t by_threads = threads > profile.max_threads_per_block
                                      ? 0
                                      : profile.max_threads_per_sm / kWarpThreads / warps;
  // In the order in which a tie is decided: what a kernel's author can change comes first. The grid
  // comes last, for it matters only where the SM had room for more.
  const Limit limits[] = {
      {"registers", register_limit(profile, resources, warps)},
      {"shared memory", shared_limit(profile, resources, launch)},
      {"threads", by_threads},
      {"blocks", profile.max_blocks_per_sm},
      {"grid", ceil_div(blocks, std::max(profile.sms, 1))},
  };
  const Limit& least =
      *std::min_element(std::begin(limits), std::end(limits),
                        [](const Limit& a, const Limit& b) { return a.blocks < b.blocks; });
  Occupancy result;
  result.blocks_per_sm = static_cast<int>(least.blocks);
  result.warps_per_sm = static_cast<int>(least.blocks * warps);
  result.limited_by = least.name;
  return result;
}

}  // namespace fa_tune::emulator
