#include "engine/device/emulator/timing_model.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace fa_tune;
using namespace fa_tune::emulator;

namespace {

DeviceProfile profile(const std::string& name) { return load_profile(name, FA_TUNE_ROOT); }

KernelResources resources(int registers, int static_shared = 0) {
  return {.registers = registers,
          .spill_store_bytes = 0,
          .spill_load_bytes = 0,
          .stack_bytes = 0,
          .static_shared_bytes = static_shared};
}

LaunchConfig launch(std::uint32_t blocks, std::uint32_t threads, std::uint32_t shared = 0) {
  return {.grid = {blocks, 1, 1},
          .block = {threads, 1, 1},
          .cluster = {1, 1, 1},
          .dynamic_shared_bytes = shared};
}

// What a FlashAttention-2 class kernel does for B = 1, H = 8, L = 512, D = 64: `warps` warps in
// all, each with 16 rows of queries and all keys, counted by hand from the algorithm.
Counters attention(std::uint64_t blocks, std::uint64_t warps_per_block) {
  const std::uint64_t warps = blocks * warps_per_block;
  Counters c;
  c.tensor = warps * 512;  // 16 x 512 x 64 multiply-adds twice, 2048 an instruction
  c.tensor_flop = c.tensor * 4096;
  c.special = warps * 256;  // an exponential for each of 16 x 512 scores
  c.fma_f32 = warps * 900;
  c.alu = warps * 1500;
  c.convert = warps * 128;
  c.shuffle = warps * 64;
  c.control = warps * 100;
  c.load_store = warps * 400;
  c.warp_instructions =
      c.tensor + c.special + c.fma_f32 + c.alu + c.convert + c.shuffle + c.control + c.load_store;
  c.shared_wavefronts = warps * 1024;  // K and V, 64 KB each, by ldmatrix
  c.shared_wavefronts_ideal = c.shared_wavefronts;
  c.global_sectors_read = blocks * 4096 + warps * 64;  // K and V a block, Q a warp
  c.global_sectors_written = warps * 64;
  c.async_copies = c.global_sectors_read / 16;
  c.barriers = warps * 8;
  c.async_waits = warps * 4;
  c.blocks = blocks;
  c.warps = warps;
  return c;
}

}  // namespace

TEST_CASE("occupancy: worked by hand from the rules") {
  const DeviceProfile l4 = profile("l4");
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

  const DeviceProfile h100 = profile("h100");
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
  CHECK(occupancy(h100, KernelResources{}, launch(100000, 128)).limited_by == "threads");
}

TEST_CASE("an empty kernel costs its launch") {
  for (const char* name : {"l4", "a100", "h100"}) {
    const DeviceProfile device = profile(name);
    Counters c;
    c.blocks = c.warps = 1;
    c.warp_instructions = c.control = 1;
    const Prediction p = predict(device, resources(16), launch(1, 32), c);
    CHECK(p.us == doctest::Approx(device.launch_us).epsilon(0.02));
    CHECK(p.bound_by == "launch");
  }
}

TEST_CASE("more of anything never costs less") {
  const DeviceProfile h100 = profile("h100");
  const auto time = [&](const Counters& c) {
    return predict(h100, resources(128), launch(512, 128, 32768), c).us;
  };
  std::uint64_t Counters::*const kinds[] = {
      &Counters::warp_instructions,
      &Counters::tensor,
      &Counters::fma_f32,
      &Counters::half,
      &Counters::alu,
      &Counters::special,
      &Counters::convert,
      &Counters::control,
      &Counters::shuffle,
      &Counters::load_store,
      &Counters::tensor_flop,
      &Counters::shared_wavefronts,
      &Counters::global_sectors_read,
      &Counters::global_sectors_written,
      &Counters::local_accesses,
      &Counters::barriers,
      &Counters::async_copies,
      &Counters::async_waits,
      &Counters::divergent,
  };
  for (std::size_t i = 0; i < std::size(kinds); ++i) {
    CAPTURE(i);
    Counters c = attention(512, 4);
    double before = time(c);
    for (int step = 0; step < 12; ++step) {
      c.*kinds[i] = c.*kinds[i] * 2 + 1000;
      // One more of a kind is one more instruction.
      if (i > 0 && i < 10) c.warp_instructions += c.*kinds[i] / 2 + 500;
      const double after = time(c);
      CHECK(after >= before);
      before = after;
    }
  }
}

TEST_CASE("spills, registers and shared memory never make it faster") {
  for (const char* name : {"l4", "a100", "h100"}) {
    const DeviceProfile device = profile(name);
    const Counters c = attention(1024, 4);
    double before = 0;
    for (int registers = 32; registers <= 255; ++registers) {
      const double after = predict(device, resources(registers), launch(1024, 128), c).us;
      CHECK(after >= before);
      before = after;
    }
    before = 0;
    for (std::uint32_t shared = 0; shared <= 99 * 1024; shared += 1024) {
      const double after = predict(device, resources(64), launch(1024, 128, shared), c).us;
      CHECK(after >= before);
      before = after;
    }
    KernelResources spilling = resources(128);
    before = predict(device, spilling, launch(1024, 128), c).us;
    spilling.spill_store_bytes = 64;
    const double stored = predict(device, spilling, launch(1024, 128), c).us;
    CHECK(stored > before);
    spilling.spill_load_bytes = 256;
    CHECK(predict(device, spilling, launch(1024, 128), c).us > stored);
  }
}

TEST_CASE("a grid pays by the busiest SM") {
  const DeviceProfile h100 = profile("h100");
  const auto time = [&](std::uint32_t blocks) {
    return predict(h100, resources(255), launch(blocks, 256), attention(blocks, 8)).us;
  };
  // One block an SM at 255 registers: 1 to 132 blocks cost the same, 133 take a second round.
  CHECK(time(132) == doctest::Approx(time(16)).epsilon(0.01));
  CHECK(time(133) > 1.5 * time(132));
  CHECK(time(264) == doctest::Approx(time(133)).epsilon(0.01));

  const auto bound = [&](std::uint32_t blocks, std::uint32_t warps, const char* name) {
    const Prediction p =
        predict(h100, resources(255), launch(blocks, 32 * warps), attention(blocks, warps));
    return nlohmann::json::parse(p.detail_json)["bounds_us"][name].get<double>();
  };
  // The second round waits for the first: a warp's chain twice over.
  CHECK(bound(264, 8, "latency") > 2 * bound(132, 8, "latency"));
  // Two warps reach two of the four partitions, and so half of the rate of the tensor cores.
  CHECK(bound(132, 2, "tensor") == doctest::Approx(bound(132, 4, "tensor")).epsilon(0.01));
  CHECK(bound(132, 8, "tensor") == doctest::Approx(2 * bound(132, 4, "tensor")).epsilon(0.01));
}

TEST_CASE("known kernels come out plausible on the H100") {
  const DeviceProfile h100 = profile("h100");
  // Measured: about 6 us each.
  const Prediction wide = predict(h100, resources(168), launch(64, 128, 40960), attention(64, 4));
  const Prediction narrow =
      predict(h100, resources(168), launch(128, 64, 36864), attention(128, 2));
  MESSAGE("64 x 128, 4 warps: ", wide.us, " us; 32 x 128, 2 warps: ", narrow.us, " us");
  MESSAGE(wide.detail_json);
  CHECK(wide.us > 3);
  CHECK(wide.us < 12);
  CHECK(narrow.us / wide.us > 0.7);
  CHECK(narrow.us / wide.us < 1.4);

  // A warp a row, a lane a key: for each multiply-add an operand from shared memory and a
  // conversion.
  Counters scalar;
  scalar.fma_f32 = 8ULL * 512 * 512 * 64 * 2 / 32;
  scalar.load_store = scalar.shared_wavefronts = scalar.convert = scalar.fma_f32;
  scalar.alu = 2 * scalar.fma_f32;
  scalar.shuffle = scalar.control = scalar.fma_f32 / 4;
  scalar.special = 2 * 8ULL * 512 * 512 / 32;
  scalar.warp_instructions = scalar.fma_f32 * 5 + scalar.fma_f32 / 2 + scalar.special;
  scalar.global_sectors_read = 1024 * 4096;
  scalar.blocks = 1024;
  scalar.warps = 4096;
  scalar.barriers = scalar.warps * 32;
  const Prediction slow = predict(h100, resources(64), launch(1024, 128, 16384), scalar);
  MESSAGE("scalar: ", slow.us, " us");
  CHECK(slow.us > 7 * wide.us);
  CHECK(slow.us < 100 * wide.us);
}

TEST_CASE("detail says what was found, as JSON") {
  const Prediction p =
      predict(profile("l4"), resources(168), launch(64, 128, 40960), attention(64, 4));
  const nlohmann::json detail = nlohmann::json::parse(p.detail_json);
  CHECK(detail["occupancy"]["limited_by"] == "shared memory");
  CHECK(detail["occupancy"]["blocks_per_sm"] == 2);
  CHECK(detail["bound_by"] == p.bound_by);
  CHECK(detail["bounds_us"].contains("tensor"));
  CHECK(detail["bounds_us"]["dram"] == 0.0);
  CHECK(detail["counters"]["tensor"] == 64 * 4 * 512);
}

TEST_CASE("what L2 cannot hold is fetched from DRAM") {
  const DeviceProfile l4 = profile("l4");
  Counters c;
  c.blocks = 1;
  c.warps = 4;
  c.global_sectors_written = (1ULL << 30) / 32;  // 1 GiB at 300 GB/s: 3.6 ms, less what stays in L2
  const Prediction p = predict(l4, resources(32), launch(100000, 128), c);
  CHECK(p.bound_by == "dram");
  CHECK(p.us > 3000);
  CHECK(p.us < 5000);
}
