#include <algorithm>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/device/emulator/timing/op_traffic.hpp"
#include "engine/device/emulator/timing/sm_simulation.hpp"
#include "engine/device/emulator/timing/timing_model.hpp"
#include "tests/engine/device/emulator/support.hpp"
#include "tests/engine/device/emulator/timing/counted_run.hpp"

// What global memory takes beyond L1: an empty launch, L2's slices, DRAM, asynchronous copies.

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

struct MemoryRun : CountedRun {
  MemoryRun(const std::string& body, std::uint32_t threads, std::uint32_t blocks = 1)
      : CountedRun(kClockDeclarations + body, TensorRule::ampere, threads, blocks) {}
};

}  // namespace

TEST_CASE("an empty kernel costs its launch; what L2 cannot hold comes from DRAM") {
  emulator::DeviceProfile profile = test::small_profile();
  const Prediction empty = MemoryRun("", 32).time(profile);
  CHECK(empty.us == doctest::Approx(profile.launch_us).epsilon(0.03));
  CHECK(empty.bound_by == "launch");
  // Every thread of 64 blocks of 256 writes 4 bytes: 64 KB.
  const MemoryRun writer(
      "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r1, %r2, "
      "256, %r1; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r1;",
      256, 64);
  CHECK(writer.record.totals.global_sectors_written == 64 * 256 * 4 / 32);
  profile.l2_bytes = 1024;
  profile.dram_gb_per_s = 0.001;  // a byte a nanosecond
  const Prediction slow = writer.time(profile);
  CHECK(slow.bound_by == "dram");
  CHECK(slow.us == doctest::Approx(65536 + profile.launch_us).epsilon(0.001));
}

TEST_CASE("L2's slices work for what they hold and for what DRAM takes; else their way counts") {
  const MemoryRun writer(
      "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r1, %r2, "
      "256, %r1; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r1;",
      256, 64);
  constexpr double kBytes = 64 * 256 * 4;
  emulator::DeviceProfile profile = test::small_profile();
  const auto l2_us = [&] {
    const auto detail = nlohmann::json::parse(writer.time(profile).detail_json);
    return detail["units_us"]["l2"].get<double>();
  };
  const double link_us = l2_us();
  CHECK(link_us > 0);
  profile.l2_hit_gb_per_s = 10;
  CHECK(l2_us() == link_us);  // one of the two alone says nothing
  profile.l2_miss_gb_per_s = 1;
  CHECK(l2_us() == doctest::Approx(kBytes / 10e3).epsilon(0.001));
  // What was written last is still in L2 when the launch ends; the launch after it waits for that.
  profile.l2_bytes = 1024;
  const double left = 0.42 * 1024;
  CHECK(l2_us() == doctest::Approx((kBytes - left) / 1e3 + left / 10e3).epsilon(0.001));
  // That it is done with all of it is waited for.
  const Prediction slow = writer.time(profile);
  CHECK(slow.bound_by == "l2");
  CHECK(slow.us == doctest::Approx(kBytes / 1e3 + profile.launch_us).epsilon(0.001));
}

TEST_CASE("what L2 does not hold takes as long to come as DRAM takes") {
  // Loads of 64 KB, each of which waits for the one before.
  std::string body =
      "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; "
      "add.u64 %rd3, %rd1, %rd2;\n";
  constexpr int kLoads = 64;
  for (int i = 0; i < kLoads; ++i)
    body +=
        "ld.global.u32 %r2, [%rd3]; and.b32 %r2, %r2, 0; cvt.u64.u32 %rd2, %r2; add.u64 %rd3, "
        "%rd3, %rd2; add.u64 %rd3, %rd3, 1024;\n";
  const MemoryRun reader(body, 256, 1);
  emulator::DeviceProfile profile = test::small_profile();
  const auto clocks = [&] { return reader.time(profile).us * profile.clock_mhz / kModelBias; };
  const double held = clocks();
  profile.dram_latency = profile.l2_latency + 400;
  CHECK(clocks() == held);
  profile.l2_bytes = 1024;
  CHECK(clocks() - held == doctest::Approx(kLoads * 400).epsilon(0.01));
  profile.dram_latency = 0;  // not known
  CHECK(clocks() == doctest::Approx(held).epsilon(0.01));
  // Copies wait as long.
  std::string copies =
      "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; "
      "add.u64 %rd3, %rd1, %rd2; mov.u32 %r2, s;\n";
  for (int i = 0; i < kLoads; ++i)
    copies +=
        "cp.async.ca.shared.global [%r2], [%rd3], 4; cp.async.commit_group; "
        "cp.async.wait_group 0; add.u64 %rd3, %rd3, 1024;\n";
  const MemoryRun copier(copies, 256, 1);
  const double near_us = copier.time(profile).us;
  profile.dram_latency = profile.l2_latency + 400;
  CHECK((copier.time(profile).us - near_us) * profile.clock_mhz / kModelBias ==
        doctest::Approx(kLoads * 400).epsilon(0.02));
}

TEST_CASE("what an SM leaves of DRAM's rate while it computes the others have") {
  // Blocks of which an SM holds one: each reads 4 KB a thread's 16 bytes at a time, then computes.
  const auto us = [](bool reads, bool computes) {
    std::string body =
        "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 16; "
        "add.u64 %rd3, %rd1, %rd2; mov.u32 %r9, 0;\n";
    for (int i = 0; i < 16 && reads; ++i)
      body += "ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd3+" + std::to_string(4096 * i) +
              "]; add.u32 %r9, %r9, %r2;\n";
    for (int i = 0; i < 600 && computes; ++i) body += "mad.lo.u32 %r9, %r9, %r9, %r9;\n";
    emulator::DeviceProfile profile = test::small_profile();
    profile.l2_bytes = 1024;
    profile.dram_gb_per_s = 5;
    emulator::KernelResources resources;
    resources.static_shared_bytes = profile.shared_per_block;
    return MemoryRun(body + "st.global.u32 [%rd3], %r9;", 256, 256).time(profile, resources).us;
  };
  const double reading = us(true, false), computing = us(false, true), both = us(true, true);
  CHECK(both > std::max(reading, computing));
  CHECK(both < 0.85 * (reading + computing));
}

TEST_CASE("an asynchronous copy asks for a line anew for each line of shared memory") {
  // Lanes of 16 bytes: of source %r4, to %r3 of shared memory.
  const auto sectors = [](const std::string& offsets) {
    const MemoryRun run(
        "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, s;\n" + offsets +
            "cvt.u64.u32 %rd2, %r4; add.u64 %rd2, %rd1, %rd2; add.u32 %r3, %r3, %r2;\n"
            "cp.async.cg.shared.global [%r3], [%rd2], 16;",
        32);
    const auto traffic = traffic_per_execution(
        make_machine_code(run.program, test::small_profile(), run.record), run.record, {});
    const auto moved = std::ranges::max_element(traffic, {}, &OpTraffic::sectors);
    return std::pair(static_cast<double>(run.record.totals.async_sectors), moved->sectors);
  };
  const auto check = [&](double asked, double moved, const std::string& offsets) {
    CAPTURE(offsets);
    const auto [counted, timed] = sectors(offsets);
    CHECK(counted == asked);
    CHECK(timed == moved);
  };
  check(16, 16, "shl.b32 %r4, %r1, 4; mov.u32 %r3, %r4;");
  // Rows of 64 bytes, 256 apart: half a line each, two of which lie in one line of shared memory.
  const std::string rows =
      "and.b32 %r5, %r1, 3; shl.b32 %r5, %r5, 4; shr.u32 %r6, %r1, 2;"
      "mad.lo.u32 %r4, %r6, 256, %r5;";
  check(16, 16, rows + "mad.lo.u32 %r3, %r6, 64, %r5;");
  // From 80 bytes of a line on each of them goes to two.
  check(32, 32, rows + "mad.lo.u32 %r3, %r6, 128, %r5; add.u32 %r3, %r3, 80;");
  // To eight, which takes as long as to two.
  check(128, 32, "shl.b32 %r4, %r1, 4; shl.b32 %r3, %r1, 7;");
  check(4, 4, "shl.b32 %r4, %r1, 4; mov.u32 %r3, %r4; setp.lt.u32 %p1, %r1, 8; @!%p1 exit;");
}

TEST_CASE("a kernel ends when all can see what it has stored") {
  const emulator::DeviceProfile profile = test::small_profile();
  const auto time = [&](const std::string& body) {
    const MemoryRun run("ld.param.u64 %rd1, [out];\n" + body, 32);
    return simulate_sm(make_machine_code(run.program, profile, run.record), run.record, profile,
                       {});
  };
  const std::string store = "st.global.f32 [%rd1], %f1;\n";
  const std::string work = many("fma.rn.f32 %f1, %f1, %f1, %f1;\n", 500);
  CHECK(time(work).end_clocks == 0);
  const SmTime last = time(work + store);
  const SmTime first = time(store + work);
  // Its warp ends when L2 has it; then comes what a fence takes.
  CHECK(last.clocks == doctest::Approx(first.clocks + profile.l2_latency).epsilon(0.02));
  CHECK(first.end_clocks > 200);
  CHECK(last.end_clocks == first.end_clocks);
}

TEST_CASE("a CTA makes room for another when what it stores has left") {
  emulator::DeviceProfile profile = test::small_profile();
  const auto clocks = [&](const std::string& stores, std::uint32_t blocks) {
    const MemoryRun run(
        "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, " + stores, 32,
        blocks);
    SmWork work;
    work.grid.x = blocks;
    work.l2_bytes_per_clock = 1000;
    return simulate_sm(make_machine_code(run.program, profile, run.record), run.record, profile,
                       work)
        .clocks;
  };
  const auto stores = [](const std::string& pitch, int count) {
    return pitch + "; add.u64 %rd1, %rd1, %rd2;\n" + many("st.global.b32 [%rd1], %r1;\n", count);
  };
  // Sectors that are filled take a clock each; of 32 lanes apart each fills an eighth of one.
  const double filled = clocks(stores("4", 64), 1);
  const double apart = clocks(stores("32", 64), 1);
  CHECK(apart - filled == doctest::Approx(64 * (32 * 2 - 4)).epsilon(0.05));
  CHECK(clocks(stores("32", 64), 2) > 1.9 * apart);
  // The second of two CTAs begins when L2 has what the first has stored.
  CHECK(clocks(stores("4", 1), 2) - clocks(stores("4", 1), 1) > profile.l2_latency);
}

TEST_CASE(
    "a fence waits until the device can see what its warp has stored, one for the CTA does not") {
  const emulator::DeviceProfile profile = test::small_profile();
  const auto clocks = [&](const std::string& body) {
    const MemoryRun run("ld.param.u64 %rd1, [out];\n" + body, 32);
    return simulate_sm(make_machine_code(run.program, profile, run.record), run.record, profile, {})
        .clocks;
  };
  const std::string store = "st.global.f32 [%rd1], %f1;\n";
  const double nothing = clocks("");
  for (const char* fence : {"membar.gl;\n", "membar.sys;\n", "fence.acq_rel.gpu;\n",
                            "fence.sc.sys;\n", "fence.acq_rel.cluster;\n"}) {
    CAPTURE(fence);
    const double alone = clocks(fence) - nothing;
    CHECK(alone > 200);
    CHECK(clocks(store + fence) - nothing ==
          doctest::Approx(alone + profile.l2_latency).epsilon(0.05));
  }
  for (const char* fence : {"membar.cta;\n", "fence.acq_rel.cta;\n"}) {
    CAPTURE(fence);
    CHECK(clocks(store + fence) - clocks(store) < 20);
  }
}

}  // namespace fa_tune::test
