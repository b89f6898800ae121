// Blocks that wait for other blocks, as look-back scans and barriers of a whole grid do. Cooperative
// launches are in cooperative_test.cpp.

#include <array>
#include <numeric>

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "tests/engine/device/emulator/support.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;

namespace {

constexpr const char* kBlockNumber = R"(
  .reg .pred %p<4>;
  .reg .b32 %r<12>;
  .reg .b64 %d<6>;
  ld.param.u64 %d1, [out];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
)";

// A block waits until the counter is at its number, takes the sum of those before from word 1,
// leaves sums of its own and counts.
std::string scan_by_counter() {
  return test::kernel(".param .u64 out", std::string(kBlockNumber) + R"(
  setp.ne.u32 %p1, %r2, 0;
  @%p1 bra DONE;
WAIT:
  ld.volatile.global.u32 %r3, [%d1];
  setp.ne.u32 %p2, %r3, %r1;
  @%p2 bra WAIT;
  membar.gl;
  ld.volatile.global.u32 %r4, [%d1+4];
  add.u32 %r4, %r4, %r1;
  mul.wide.u32 %d2, %r1, 4;
  add.u64 %d2, %d1, %d2;
  st.global.u32 [%d2+8], %r4;
  st.volatile.global.u32 [%d1+4], %r4;
  membar.gl;
  add.u32 %r5, %r1, 1;
  st.volatile.global.u32 [%d1], %r5;
DONE:)");
}

// The same by a word of flag and value for each block: look-back with release and acquire.
std::string scan_by_flags() {
  return test::kernel(".param .u64 out", std::string(kBlockNumber) + R"(
  setp.ne.u32 %p1, %r2, 0;
  @%p1 bra DONE;
  mul.wide.u32 %d2, %r1, 8;
  add.u64 %d2, %d1, %d2;
  mov.u32 %r4, %r1;
  setp.eq.u32 %p3, %r1, 0;
  @%p3 bra FIRST;
WAIT:
  ld.acquire.gpu.global.u64 %d3, [%d2+-8];
  cvt.u32.u64 %r5, %d3;
  setp.eq.u32 %p2, %r5, 0;
  @%p2 nanosleep.u32 20;
  @%p2 bra WAIT;
  shr.u64 %d4, %d3, 32;
  cvt.u32.u64 %r6, %d4;
  add.u32 %r4, %r4, %r6;
FIRST:
  cvt.u64.u32 %d3, %r4;
  shl.b64 %d3, %d3, 32;
  or.b64 %d3, %d3, 1;
  st.release.gpu.global.u64 [%d2], %d3;
DONE:)");
}

// All blocks come to a barrier of the grid, then each reads what its neighbour wrote before.
std::string grid_barrier() {
  return test::kernel(".param .u64 out", std::string(kBlockNumber) + R"(
  mov.u32 %r9, %nctaid.x;
  mul.wide.u32 %d2, %r1, 4;
  add.u64 %d2, %d1, %d2;
  setp.ne.u32 %p1, %r2, 0;
  @%p1 bra MET;
  add.u32 %r3, %r1, 100;
  st.global.u32 [%d2+4], %r3;
  membar.gl;
  atom.add.global.u32 %r4, [%d1], 1;
WAIT:
  ld.volatile.global.u32 %r5, [%d1];
  setp.lt.u32 %p2, %r5, %r9;
  @%p2 bra WAIT;
  membar.gl;
MET:
  bar.sync 0;
  @%p1 bra DONE;
  add.u32 %r6, %r1, 1;
  setp.eq.u32 %p3, %r6, %r9;
  selp.u32 %r6, 0, %r6, %p3;
  mul.wide.u32 %d3, %r6, 4;
  add.u64 %d3, %d1, %d3;
  ld.global.u32 %r7, [%d3+4];
  mul.wide.u32 %d4, %r9, 4;
  add.u64 %d4, %d2, %d4;
  st.global.u32 [%d4+4], %r7;
DONE:)");
}

// 4 multiprocessors that hold 24 blocks each.
constexpr std::uint32_t kResident = 96;

std::uint32_t sum_to(std::uint32_t block) { return block * (block + 1) / 2; }

}  // namespace

TEST_CASE("blocks that wait for those before them run, in every schedule and on any threads") {
  constexpr std::uint32_t kBlocks = 300;
  for (const int threads : {1, 3})
    for (const std::uint64_t schedule : {0, 1, 2, 3, 4}) {
      CAPTURE(threads);
      CAPTURE(schedule);
      test::Bench counter(scan_by_counter(), 2 + kBlocks, threads);
      counter.launch.config.grid.x = kBlocks;
      counter.launch.schedule = schedule;
      const auto ran = counter.run();
      REQUIRE_MESSAGE(ran, ran.error().message);
      for (std::uint32_t i = 0; i < kBlocks; ++i) CHECK(counter.words()[2 + i] == sum_to(i));

      test::Bench flags(scan_by_flags(), 2 * kBlocks, threads);
      flags.launch.config.grid.x = kBlocks;
      flags.launch.schedule = schedule;
      const auto looked_back = flags.run();
      REQUIRE_MESSAGE(looked_back, looked_back.error().message);
      for (std::uint32_t i = 0; i < kBlocks; ++i) CHECK(flags.words()[2 * i + 1] == sum_to(i));
    }
}

TEST_CASE(
    "for a time of blocks that wait for those before them these run too, and it is not modelled") {
  // One that is too large to be run as a whole.
  std::string work;
  for (int i = 0; i < 60; ++i) work += "  add.u32 %r8, %r8, %r1;\n";
  for (const bool large : {false, true}) {
    const std::uint32_t blocks = large ? 800 : 60;
    std::string ptx = scan_by_counter();
    if (large)
      ptx.insert(ptx.find("WAIT:"), "mov.u32 %r8, 0;\nWORK:\n" + work +
                                        "  add.u32 %r10, %r8, 1;\n  add.u32 %r11, %r11, 1;\n"
                                        "  setp.lt.u32 %p3, %r11, 200;\n  @%p3 bra WORK;\n");
    // %r11 begins with ones in all its bits, so the loop runs from there.
    if (large) ptx.insert(ptx.find("mov.u32 %r8, 0;"), "mov.u32 %r11, 0;\n");
    test::Bench bench(ptx, 2 + blocks);
    bench.launch.config.grid.x = blocks;
    const auto timing = bench.device->time(bench.launch, {});
    REQUIRE_FALSE(timing);
    CHECK(timing.error().kind == FaultKind::not_modelled);
    CHECK(bench.words()[1 + blocks] == sum_to(blocks - 1));
  }
}

TEST_CASE("a prediction runs all blocks where they are few, or where it is asked to") {
  const std::string little = test::kernel(".param .u64 out", std::string(kBlockNumber) + R"(
  mul.wide.u32 %d2, %r1, 4;
  add.u64 %d2, %d1, %d2;
  st.global.u32 [%d2], 7;)");
  test::Bench bench(little, 100);
  bench.launch.config.grid.x = 100;
  const auto timing = bench.device->time(bench.launch, {});
  REQUIRE(timing);
  CHECK(timing->complete);
  CHECK(bench.words() == std::vector<std::uint32_t>(100, 7));

  std::string long_loop = little;
  long_loop.insert(long_loop.find("  mul.wide"), R"(
  mov.u32 %r3, 0;
LOOP:
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p1, %r3, 100000;
  @%p1 bra LOOP;
)");
  test::Bench slow(long_loop, 100);
  slow.launch.config.grid.x = 100;
  const auto sampled = slow.device->time(slow.launch, {});
  REQUIRE(sampled);
  CHECK_FALSE(sampled->complete);
  const auto written = slow.words();
  CHECK(std::accumulate(written.begin(), written.end(), 0U) == 8 * 7);
  TimingPlan plan;
  plan.complete = true;
  const auto whole = slow.device->time(slow.launch, plan);
  REQUIRE(whole);
  CHECK(whole->complete);
  CHECK(whole->samples_us == sampled->samples_us);
  CHECK(slow.words() == std::vector<std::uint32_t>(100, 7));
}

TEST_CASE("a block that idles where the one before it has not run is timed at its work") {
  // Leaves a mark; works a while if the block before has left its own, or if it is `honest`.
  const auto marked = [](bool honest) {
    return test::kernel(".param .u64 out", std::string(kBlockNumber) + R"(
  mul.wide.u32 %d2, %r1, 4;
  add.u64 %d2, %d1, %d2;
  ld.global.u32 %r3, [%d2];
  st.global.u32 [%d2+4], 1;
  setp.eq.u32 %p1, %r3, 0;
)" + (honest ? "" : "  @%p1 bra DONE;\n") +
                                               R"(  mov.u32 %r4, 0;
WORK:
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p2, %r4, 1000;
  @%p2 bra WORK;
DONE:)");
  };
  // Two full rounds of 24 on each SM, so that no tail depends on which of them ends first.
  constexpr std::uint32_t kBlocksOfTwoRounds = 192;
  const auto us = [](const std::string& ptx) {
    test::Bench bench(ptx, kBlocksOfTwoRounds + 1);
    std::vector<std::uint32_t> words(kBlocksOfTwoRounds + 1, 0);
    words[0] = 1;
    bench.write(words);
    bench.launch.config.grid.x = kBlocksOfTwoRounds;
    const auto timing = bench.device->time(bench.launch, {});
    REQUIRE(timing);
    return timing->samples_us[0];
  };
  CHECK(us(marked(false)) == doctest::Approx(us(marked(true))).epsilon(0.02));
}

TEST_CASE("a barrier of a grid that the device holds is passed, also when it is checked") {
  for (const bool checked : {false, true})
    for (const std::uint64_t schedule : {0, 1, 3}) {
      CAPTURE(checked);
      CAPTURE(schedule);
      test::Bench bench(grid_barrier(), 1 + 2 * kResident);
      bench.launch.config.grid.x = kResident;
      bench.launch.config.block.x = 64;
      bench.launch.schedule = schedule;
      if (checked) bench.launch.checks = Checks::all();
      const auto ran = bench.run();
      REQUIRE_MESSAGE(ran, ran.error().message);
      for (std::uint32_t i = 0; i < kResident; ++i)
        CHECK(bench.words()[1 + kResident + i] == 100 + (i + 1) % kResident);
    }
}

TEST_CASE("a barrier of a grid that is larger than what the device holds is a deadlock") {
  test::Bench bench(grid_barrier(), 1 + 2 * (kResident + 1));
  bench.launch.config.grid.x = kResident + 1;
  const auto ran = bench.run();
  REQUIRE_FALSE(ran);
  CHECK(ran.error().kind == FaultKind::deadlock);
  CHECK_MESSAGE(test::has(ran.error().message, "waits for a block that cannot begin"),
                ran.error().message);
  CHECK_MESSAGE(test::has(ran.error().message, "ld.volatile.global.u32"), ran.error().message);
}

TEST_CASE("a block that waits for what nobody writes is told from one that works without end") {
  const Fault waits = test::fault_of(test::kernel(".param .u64 out", R"(
  .reg .pred %p1;
  .reg .b32 %r1;
  .reg .b64 %d1;
  ld.param.u64 %d1, [out];
WAIT:
  ld.acquire.gpu.global.u32 %r1, [%d1];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra WAIT;)"));
  CHECK(waits.kind == FaultKind::deadlock);
  CHECK_MESSAGE(test::has(waits.message, "waits for what no other block writes"), waits.message);
  const Fault works = test::fault_of(test::kernel(".param .u64 out", "LOOP: bra LOOP;"));
  CHECK(works.kind == FaultKind::timeout);
  CHECK_MESSAGE(test::has(works.message, "it does not end"), works.message);
}

TEST_CASE("what looks once and does not wait is seen where blocks begin in another order") {
  // Writes 1 if the block before has left its mark.
  const std::string looks = test::kernel(".param .u64 out", std::string(kBlockNumber) + R"(
  setp.ne.u32 %p1, %r2, 0;
  @%p1 bra DONE;
  mul.wide.u32 %d2, %r1, 4;
  add.u64 %d2, %d1, %d2;
  ld.volatile.global.u32 %r3, [%d2];
  st.volatile.global.u32 [%d2+4], 1;
  st.global.u32 [%d2+400], %r3;
DONE:)");
  const auto left = [&](std::uint64_t schedule) {
    test::Bench bench(looks, 200);
    bench.launch.config.grid.x = 90;
    bench.launch.schedule = schedule;
    REQUIRE(bench.run());
    return bench.words();
  };
  CHECK(left(1) == left(0));
  CHECK(left(3) != left(0));
  CHECK(left(3) == left(3));
}

TEST_CASE("the instructions that a device may execute end a launch, at the same one every time") {
  const std::string ptx = test::kernel(".param .u64 out", std::string(kBlockNumber) + R"(
  mul.wide.u32 %d2, %r1, 4;
  add.u64 %d2, %d1, %d2;
  st.global.u32 [%d2], 7;)");
  const auto device = open_emulator(test::small_profile(), 1, 10'000);
  const auto kernel = device->load(test::image(ptx));
  REQUIRE(kernel);
  const BufferHandle buffer = device->allocate(4000);
  Launch launch;
  launch.kernel = *kernel;
  launch.config.grid.x = 500;
  launch.config.block.x = 32;
  launch.arguments = {buffer};
  CHECK(device->launch(launch));
  CHECK(device->launch(launch));
  const auto third = device->launch(launch);
  REQUIRE_FALSE(third);
  CHECK(third.error().kind == FaultKind::unfinished);
  CHECK_FALSE(device->launch(launch));
}

TEST_CASE("a product of tensor cores counts for as many instructions as take its time") {
  const auto launches = [](const std::string& instruction) {
    std::string body = ".reg .b32 %r<9>;\n.reg .f32 %f<9>;\n";
    for (int i = 0; i < 100; ++i) body += instruction;
    const auto device = open_emulator(test::small_profile(), 1, 10'000);
    const auto kernel = device->load(test::image(test::kernel(".param .u64 out", body)));
    REQUIRE(kernel);
    Launch launch;
    launch.kernel = *kernel;
    launch.config.block.x = 32;
    launch.arguments = {device->allocate(256)};
    int done = 0;
    while (device->launch(launch)) ++done;
    return done;
  };
  CHECK(launches("add.u32 %r1, %r1, 1;\n") > 90);
  // 4096 operations each.
  CHECK(launches("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, "
                 "{%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};\n") < 6);
}

}  // namespace fa_tune::test
