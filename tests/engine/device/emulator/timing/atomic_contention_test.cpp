// What L2 takes for atomic operations, beside what `bench_microbench` measured on an H100.

#include "engine/device/emulator/timing/atomic_contention.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/device/emulator/prediction/prediction.hpp"
#include "engine/device/emulator/timing/timing_model.hpp"
#include "engine/device/profile.hpp"
#include "tests/engine/device/emulator/support.hpp"
#include "tests/engine/device/emulator/timing/counted_run.hpp"

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

constexpr std::uint64_t kBase = 0x7f0000001000;

emulator::DeviceProfile h100() { return device::load_profile("h100", FA_TUNE_ROOT); }

// `instructions` of a warp, the k-th one on line k % lines: its lanes, or some, on words in order.
AtomicSectors on_lines(int instructions, int lines, std::size_t lanes, bool is_real,
                       std::uint64_t step = 4) {
  AtomicSectors atomics;
  std::vector<std::uint64_t> addresses(lanes);
  for (int i = 0; i < instructions; ++i) {
    const std::uint64_t line = kBase + std::uint64_t(i % lines) * 128;
    for (std::size_t lane = 0; lane < lanes; ++lane) addresses[lane] = line + lane * step;
    atomics.add(0, addresses, is_real);
  }
  return atomics;
}

double ns_each(int lines, std::size_t lanes, bool is_real, std::uint64_t step = 4) {
  const int instructions = 64 * lines;
  return 1e3 * atomic_us(h100(), on_lines(instructions, lines, lanes, is_real, step), 1, 1) /
         instructions;
}

}  // namespace

TEST_CASE("operations on different words of a sector are one, on one word as many as they are") {
  AtomicSectors atomics;
  const std::vector<std::uint64_t> mixed = {kBase, kBase + 4, kBase + 4, kBase + 4, kBase + 32};
  atomics.add(7, mixed, true);
  atomics.add(7, std::vector{kBase}, false);
  atomics.add(8, std::vector{kBase}, false);
  REQUIRE(atomics.all().size() == 2);
  const auto& first = atomics.all().at(kBase / 32);
  CHECK(first.operations == 5);
  CHECK(first.real == 3);
  CHECK(first.blocks == 2);
  AtomicSectors sum;
  sum.join(atomics);
  sum.join(atomics);
  CHECK(sum.all().at(kBase / 32).operations == 10);
  CHECK(sum.all().at(kBase / 32).blocks == 4);
  CHECK(sum.all().at(kBase / 32 + 1).real == 2);
}

TEST_CASE("times are those that an H100 took, ns an instruction of a warp") {
  // tools/bench/results/clock/microbench_atomics.json, "32 words" of red.u32.
  struct Measured {
    int lines;
    double ns;
  };
  for (const auto& [lines, ns] : {Measured{1, 2.468}, Measured{4, 1.177}, Measured{16, 0.593},
                                  Measured{64, 0.191}, Measured{1024, 0.056}}) {
    CAPTURE(lines);
    CHECK(ns_each(lines, 32, false) == doctest::Approx(ns).epsilon(0.1));
    CHECK(ns_each(lines, 32, true) == doctest::Approx(ns).epsilon(0.1));
  }
  CHECK(ns_each(1, 8, false) == doctest::Approx(0.594).epsilon(0.1));
  CHECK(ns_each(1, 8, true) == doctest::Approx(1.763).epsilon(0.1));
  CHECK(ns_each(1, 32, true, 0) == doctest::Approx(56.229).epsilon(0.1));
}

TEST_CASE("what all counted CTAs share the grid shares, what one has is its own") {
  const auto time = [](bool shared, double to_grid) {
    AtomicSectors atomics;
    for (std::uint64_t block = 0; block < 4; ++block)
      for (int i = 0; i < 1000; ++i)
        atomics.add(block, std::vector{kBase + (shared ? 0 : block * 4096)}, false);
    return atomic_us(h100(), atomics, 4, to_grid);
  };
  CHECK(time(true, 10) == doctest::Approx(10 * time(true, 1)));
  CHECK(time(false, 10) < 3 * time(false, 1));
  CHECK(time(false, 1) < time(true, 1));
  AtomicSectors none;
  CHECK(atomic_us(h100(), none, 4, 10) == 0);
  emulator::DeviceProfile unknown = h100();
  unknown.l2_slices = 0;
  CHECK(atomic_us(unknown, on_lines(100, 1, 32, false), 1, 1) == 0);
}

TEST_CASE("a kernel that adds to one word takes as long as L2 does, and its warps wait for it") {
  constexpr std::uint32_t kBlocks = 64;
  const auto run = [](const std::string& step) {
    return CountedRun(
        ".reg .b32 %r<4>; .reg .b64 %rd<4>; .shared .align 16 .b8 s[64];\n"
        "mov.u32 %r1, 1; ld.param.u64 %rd1, [out];\n" +
            many(step, 50),
        TensorRule::ampere, 128, kBlocks);
  };
  emulator::DeviceProfile profile = test::small_profile();
  const auto predicted = [&](const CountedRun& ran) {
    return simulate_launch(profile, {}, ran.launch, ran.program, ran.record, 1 << 20);
  };
  const CountedRun global = run("red.global.add.u32 [%rd1], %r1;\n");
  const CountedRun shared = run("red.shared.add.u32 [s], %r1;\n");
  const double before_us = predicted(global).us, shared_us = predicted(shared).us;
  profile.l2_slices = 48;
  profile.l2_atomic_ns = 1;
  const double operations = 50.0 * 128 * kBlocks;
  const SimulatedLaunch waits = predicted(global);
  CHECK(waits.us == doctest::Approx(profile.launch_us + operations / 1e3).epsilon(0.01));
  CHECK(waits.us > 2 * before_us);
  CHECK(waits.bound_by == "waits for global memory");
  CHECK(predicted(shared).us == shared_us);
}

}  // namespace fa_tune::test
