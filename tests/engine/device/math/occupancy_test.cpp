#include "engine/device/emulator/target/occupancy.hpp"

#include <doctest/doctest.h>

#include "engine/device/profile.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::emulator;

namespace {

emulator::DeviceProfile profile(const std::string& name) {
  return load_profile(name, FA_TUNE_ROOT);
}

emulator::KernelResources resources(int registers, int static_shared = 0) {
  return {.registers = registers,
          .spill_store_bytes = 0,
          .spill_load_bytes = 0,
          .stack_bytes = 0,
          .static_shared_bytes = static_shared};
}

emulator::LaunchConfig launch(std::uint32_t blocks, std::uint32_t threads,
                              std::uint32_t shared = 0) {
  return {.grid = {blocks, 1, 1},
          .block = {threads, 1, 1},
          .cluster = {1, 1, 1},
          .dynamic_shared_bytes = shared};
}

}  // namespace

TEST_CASE("occupancy: worked by hand from the rules") {
  const emulator::DeviceProfile l4 = profile("l4");
  const auto on_l4 = [&](int registers, std::uint32_t threads, std::uint32_t shared) {
    return occupancy(l4, resources(registers), launch(100000, threads, shared));
  };
  // 1536 threads are 48 warps: 12 blocks of 4.
  CHECK(on_l4(32, 128, 0).blocks_per_sm == 12);
  CHECK(on_l4(32, 128, 0).warps_per_sm == 48);
  CHECK(on_l4(32, 128, 0).limited_by == "threads");
  // 24 blocks an SM, however small.
  CHECK(on_l4(32, 32, 0).blocks_per_sm == 24);
  CHECK(on_l4(32, 32, 0).limited_by == "blocks");
  // 128 registers: 4096 a warp, 4 warps a partition of 16384, 16 an SM, 4 blocks of 4.
  CHECK(on_l4(128, 128, 0).blocks_per_sm == 4);
  CHECK(on_l4(128, 128, 0).limited_by == "registers");
  // 129 registers: 4128, rounded up to 4352 a warp: 3 a partition, 12 an SM, 3 blocks.
  CHECK(on_l4(129, 128, 0).blocks_per_sm == 3);
  // 73 registers: 2336, rounded up to 2560 a warp: 6 a partition, 24 an SM, 6 blocks (not 7).
  CHECK(on_l4(73, 128, 0).blocks_per_sm == 6);
  // 192 registers: 6144 a warp: 2 a partition, 8 an SM, though 10 times 6144 would fit it: 4
  // blocks.
  CHECK(on_l4(192, 64, 0).blocks_per_sm == 4);
  // 48 KB and the reserved 1 KB are 49 of 100 KB: 2 blocks. 50 KB would be 51: 1.
  CHECK(on_l4(32, 128, 48 * 1024).blocks_per_sm == 2);
  CHECK(on_l4(32, 128, 49 * 1024).blocks_per_sm == 2);
  CHECK(on_l4(32, 128, 50 * 1024).blocks_per_sm == 1);
  CHECK(on_l4(32, 128, 50 * 1024).limited_by == "shared memory");
  CHECK(on_l4(32, 128, 99 * 1024).blocks_per_sm == 1);
  CHECK(on_l4(32, 128, 99 * 1024 + 1).blocks_per_sm == 0);
  // Too much for one block: 255 registers of 1024 threads, or 2048 threads.
  CHECK(on_l4(255, 1024, 0).blocks_per_sm == 0);
  CHECK(on_l4(32, 2048, 0).blocks_per_sm == 0);

  const emulator::DeviceProfile h100 = profile("h100");
  // 2048 threads are 64 warps; 168 registers are 5376 a warp: 3 a partition, 12 warps, 3 blocks
  // of 4.
  CHECK(occupancy(h100, resources(168), launch(100000, 128)).blocks_per_sm == 3);
  CHECK(occupancy(h100, resources(32), launch(100000, 256)).warps_per_sm == 64);
  // Static and dynamic shared memory count together: 100 + 14 KB, twice with 1 KB each in 228 KB.
  CHECK(occupancy(h100, resources(32, 100 * 1024), launch(9999, 64, 13 * 1024)).blocks_per_sm == 2);
  CHECK(occupancy(h100, resources(32, 100 * 1024), launch(9999, 64, 14 * 1024)).blocks_per_sm == 1);
  // 64 blocks on 132 SMs: one each.
  CHECK(occupancy(h100, resources(64), launch(64, 128)).blocks_per_sm == 1);
  CHECK(occupancy(h100, resources(64), launch(64, 128)).limited_by == "grid");
  CHECK(occupancy(h100, resources(64), launch(133, 128)).blocks_per_sm == 2);
  // Registers not known: no limit.
  CHECK(occupancy(h100, emulator::KernelResources{}, launch(100000, 128)).limited_by == "threads");
}

}  // namespace fa_tune::test
