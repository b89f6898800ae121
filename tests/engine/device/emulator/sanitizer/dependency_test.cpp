#include <doctest/doctest.h>

#include "tests/engine/device/emulator/hopper_support.hpp"

// Programmatic launches: what touches global memory has to come after griddepcontrol.wait.

namespace fa_tune::test {

using namespace fa_tune::device;

namespace {

// %rd3: the thread's word of `out`, %rd4: of `in`.
const std::string kTwoBuffers = kHopperRegisters + R"(
  .shared .align 8 .b64 bar;
  .shared .align 128 .b8 box[512];
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
)" + kMakeBarrier + R"(
  mul.wide.u32 %rd5, %r1, 4;
  add.u64 %rd3, %rd1, %rd5;
  add.u64 %rd4, %rd2, %rd5;
)";
const std::string kWaitForGrids = "griddepcontrol.wait;\n";
const std::string kReadIn = "ld.global.u32 %r5, [%rd4];\n";
const std::string kWriteOut = "st.global.u32 [%rd3], %r1;\n";

// What a kernel is accused of in one of the schedules; empty: of nothing.
std::string told_of(const std::string& body, bool programmatic = true) {
  const std::string ptx = kernel(".param .u64 out, .param .u64 in", kTwoBuffers + body);
  for (std::uint64_t schedule = 0; schedule < kSchedules; ++schedule) {
    HopperBench bench(ptx);
    bench.launch.arguments = {bench.buffer(std::vector<std::uint32_t>(128)),
                              bench.buffer(counting(128))};
    bench.launch.config.programmatic = programmatic;
    bench.launch.checks = Checks::all();
    bench.launch.schedule = schedule;
    if (std::string said = bench.run(); !said.empty()) return said;
  }
  return "";
}

void too_early(const std::string& body, const std::string& what) {
  const std::string said = told_of(body);
  INFO(body);
  INFO(said);
  CHECK(said.starts_with("race: "));
  CHECK(said.find(what + " global memory before griddepcontrol.wait") != std::string::npos);
  CHECK(told_of(body, false).empty());
  CHECK(told_of(kWaitForGrids + body).empty());
}

}  // namespace

TEST_CASE("programmatic launch: accesses before the wait are found, after it they are right") {
  too_early(kReadIn, "reads");
  too_early(kWriteOut, "writes to");
  too_early("red.global.add.u32 [%rd3], 1;\n", "writes to");
  too_early("griddepcontrol.launch_dependents;\n" + kReadIn, "reads");
  too_early(
      "mov.u32 %r2, box; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3;\n"
      "cp.async.ca.shared.global [%r2], [%rd4], 4; cp.async.wait_all;\n",
      "reads");
  too_early(R"(
    @%p1 bra LOADED;
    mbarrier.arrive.expect_tx.shared::cta.b64 %rd6, [bar], 512;
    mov.u32 %r2, box;
    mov.u32 %r3, bar;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2], 512, [%r3];
  LOADED:
  )" + kWaitForBarrier,
            "reads");
}

TEST_CASE("programmatic launch: a thread may rest on another one's wait that it knows of") {
  const std::string first_waits = "@!%p1 griddepcontrol.wait;\n";
  CHECK(told_of(first_waits + "bar.sync 0;\n" + kReadIn + kWriteOut).empty());
  // Lanes that wait later take nothing from those who rest on the first.
  CHECK(told_of(first_waits +
                "bar.sync 0;\nsetp.lt.u32 %p4, %r1, 32;\n@%p4 griddepcontrol.wait;\n" + kReadIn)
            .empty());
  const std::string said = told_of(first_waits + kReadIn);
  CHECK(said.find("before griddepcontrol.wait") != std::string::npos);
  // Others of its own warp meet it, those of other warps do not.
  CHECK_FALSE(told_of(first_waits + "bar.warp.sync -1;\n" + kReadIn).empty());
}

}  // namespace fa_tune::test
