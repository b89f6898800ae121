// Launches whose blocks all run at once and may wait for each other at a barrier of the whole grid.

#include <string>

#include <doctest/doctest.h>

#include "tests/engine/device/emulator/support.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;

namespace {

// 4 multiprocessors that hold 24 blocks each.
constexpr std::uint32_t kHeldBlocks = 96;

constexpr const char* kOwnPlace = R"(
  .reg .b32 %r<3>;
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [out];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
)";

// Cooperative groups' barrier of the grid, as NVRTC writes it, `times` times over. Before each a
// block writes its word, and behind it reads the next one's; what it has read it sums.
std::string cooperative_barrier(int times, bool waits = true) {
  return test::kernel(".param .u64 out", std::string(kOwnPlace) + R"(
  .reg .u32 %v<24>; .reg .u64 %w<12>; .reg .pred %q<8>;
  mov.u32 %v1, %envreg2; cvt.u64.u32 %w1, %v1;
  mov.u32 %v2, %envreg1; cvt.u64.u32 %w2, %v2;
  bfi.b64 %w3, %w2, %w1, 32, 32;
  setp.ne.s64 %q1, %w3, 0;
  @%q1 bra MADE;
  trap;
MADE:
  mov.u32 %v3, %nctaid.x; mov.u32 %v4, 0; mov.u32 %v5, 0;
  mul.wide.u32 %w4, %r1, 4; add.u64 %w4, %d1, %w4;
  add.u32 %v6, %r1, 1; rem.u32 %v6, %v6, %v3; mul.wide.u32 %w5, %v6, 4; add.u64 %w5, %d1, %w5;
  mul.wide.u32 %w6, %v3, 4; add.u64 %w6, %w4, %w6;
  setp.eq.u32 %q2, %r2, 40;
AGAIN:
  mad.lo.u32 %v7, %v5, 1000, %r1;
  @%q2 st.global.u32 [%w4], %v7;
  mov.u32 %v18, 0;
BARRIER:
  barrier.sync 0;
  setp.ne.s32 %q3, %r2, 0;
  @%q3 bra MET;
  add.s64 %w7, %w3, 4;
  setp.eq.s32 %q4, %r1, 0;
  sub.s32 %v8, -2147483647, %v3;
  selp.b32 %v9, %v8, 1, %q4;
  atom.add.release.gpu.u32 %v10, [%w7], %v9;
WAIT:
  ld.acquire.gpu.u32 %v11, [%w7];
  xor.b32 %v12, %v11, %v10;
  setp.gt.s32 %q5, %v12, -1;
)" + (waits ? "  @%q5 bra WAIT;\n" : "") + R"(
MET:
  barrier.sync 0;
  setp.ne.u32 %q6, %v18, 0;
  @%q6 bra NEXT;
  ld.global.u32 %v13, [%w5];
  add.u32 %v4, %v4, %v13;
  mov.u32 %v18, 1;
  bra BARRIER;
NEXT:
  add.u32 %v5, %v5, 1;
  setp.lt.u32 %q7, %v5, )" + std::to_string(times) +
                                             R"(;
  @%q7 bra AGAIN;
  @%q2 st.global.u32 [%w6], %v4;
)");
}

Launch cooperative(test::Bench& bench, std::uint32_t blocks) {
  Launch launch = bench.launch;
  launch.config.grid.x = blocks;
  launch.config.block.x = 64;
  launch.config.cooperative = true;
  return launch;
}

}  // namespace

TEST_CASE("a cooperative grid syncs as often as it wants, also when it is checked") {
  for (const bool checked : {false, true})
    for (const std::uint64_t schedule : {0, 1, 3}) {
      CAPTURE(checked);
      CAPTURE(schedule);
      test::Bench bench(cooperative_barrier(3), 2 * kHeldBlocks);
      Launch launch = cooperative(bench, kHeldBlocks);
      launch.schedule = schedule;
      if (checked) launch.checks = Checks::all();
      for (int again = 0; again < 2; ++again) {
        const auto ran = bench.device->launch(launch);
        REQUIRE_MESSAGE(ran, ran.error().message);
        for (std::uint32_t i = 0; i < kHeldBlocks; ++i)
          CHECK(bench.words()[kHeldBlocks + i] == 3000 + 3 * ((i + 1) % kHeldBlocks));
      }
    }
}

TEST_CASE("a cooperative barrier that does not wait is a race") {
  test::Bench bench(cooperative_barrier(1, false), 2 * kHeldBlocks);
  Launch launch = cooperative(bench, 8);
  launch.checks = Checks::all();
  const auto ran = bench.device->launch(launch);
  REQUIRE_FALSE(ran);
  CHECK(ran.error().kind == FaultKind::race);
}

TEST_CASE("a cooperative grid beyond what the device holds is refused, and so is none") {
  test::Bench bench(cooperative_barrier(1), 2 * (kHeldBlocks + 1));
  Launch launch = cooperative(bench, kHeldBlocks + 1);
  const auto ran = bench.device->launch(launch);
  REQUIRE_FALSE(ran);
  CHECK(ran.error().kind == FaultKind::resources);
  CHECK(ran.error().message ==
        "k: a cooperative grid of 97 blocks; the device holds 96 of them at once, and blocks that "
        "wait for each other must all be there; what limits it: threads");
  // Another launch has no barrier of the grid: the kernel stops itself.
  launch.config.cooperative = false;
  const auto alone = bench.device->launch(launch);
  REQUIRE_FALSE(alone);
  CHECK(alone.error().kind == FaultKind::trap);
  CHECK(test::has(alone.error().message, "no cooperative launch"));
}

TEST_CASE("the time of a cooperative launch is one of all its blocks") {
  test::Bench bench(cooperative_barrier(1), 2 * kHeldBlocks);
  const auto timing = bench.device->time(cooperative(bench, kHeldBlocks), {});
  REQUIRE_MESSAGE(timing, timing.error().message);
  CHECK(timing->complete);
}

}  // namespace fa_tune::test
