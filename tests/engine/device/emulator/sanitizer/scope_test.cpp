#include <doctest/doctest.h>

#include "tests/engine/device/emulator/hopper_support.hpp"

// What mbarriers and cluster barriers order, by their scopes and orders, and for which lanes.

namespace fa_tune::test {

using namespace fa_tune::device;

namespace {

// A cluster of two blocks of two warps. %r2: the block's rank; %r3: the other's; `slot` holds 64
// words, `bar` waits for one arrival; %r5: the thread's word of the slot, %r6: the same there; %r7:
// the other's mbarrier.
const std::string kTwoBlocks = kHopperRegisters + R"(
  .shared .align 8 .b64 bar;
  .shared .align 128 .b8 slot[256];
)" + kMakeBarrier + R"(
  mov.u32 %r2, %cluster_ctarank;
  xor.b32 %r3, %r2, 1;
  setp.eq.u32 %p4, %r2, 0;
  shl.b32 %r4, %r1, 2;
  mov.u32 %r5, slot;
  add.u32 %r5, %r5, %r4;
  mapa.shared::cluster.u32 %r6, %r5, %r3;
  mov.u32 %r7, bar;
  mapa.shared::cluster.u32 %r7, %r7, %r3;
  ld.param.u64 %rd1, [out];
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
)";
const std::string kMeet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";
const std::string kMeetRelaxed =
    "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;\n";

// What the kernel is accused of in one of the schedules; empty: of nothing.
std::string accused_of(const std::string& body) {
  const std::string ptx = kernel(".param .u64 out", kTwoBlocks + body + kMeet);
  for (std::uint64_t schedule = 0; schedule < kSchedules; ++schedule) {
    HopperBench bench(ptx);
    bench.launch.arguments = {bench.buffer(std::vector<std::uint32_t>(1024))};
    bench.launch.config.grid = {2, 1, 1};
    bench.launch.config.cluster = {2, 1, 1};
    bench.launch.config.block = {64, 1, 1};
    bench.launch.checks = Checks::all();
    bench.launch.schedule = schedule;
    if (std::string said = bench.run(); !said.empty()) return said;
  }
  return "";
}

void races(const std::string& body, const std::string& part) {
  const std::string said = accused_of(body);
  INFO(body);
  INFO(said);
  CHECK(said.starts_with("race: "));
  CHECK(said.find(part) != std::string::npos);
}

std::string wait(const std::string& order) {
  return "WAIT: mbarrier.try_wait.parity" + order +
         ".shared::cta.b64 %p2, [bar], 0; @!%p2 bra WAIT;\n";
}

}  // namespace

TEST_CASE("an arrival at another block's mbarrier publishes at cluster scope alone") {
  // The first block's first thread writes there and arrives; the second block reads its own.
  const auto kernel_of = [](const std::string& arrive, const std::string& order) {
    return kMeet + "@!%p4 bra SECOND; @%p1 bra OVER; st.shared::cluster.u32 [%r6], 7;\n" + arrive +
           " _, [%r7];\nbra OVER;\nSECOND:\n" + wait(order) + "ld.shared.u32 %r8, [slot];\nOVER:\n";
  };
  const std::string acquire = ".acquire.cluster";
  CHECK(accused_of(kernel_of("mbarrier.arrive.release.cluster.shared::cluster.b64", acquire)) ==
        "");
  races(kernel_of("mbarrier.arrive.shared::cluster.b64", acquire), "nothing orders the two");
  races(kernel_of("mbarrier.arrive.release.cluster.shared::cluster.b64", ""), "nothing orders");
  CHECK(accused_of(kernel_of("fence.acq_rel.cluster;\n"
                             "mbarrier.arrive.relaxed.cluster.shared::cluster.b64",
                             acquire)) == "");
  races(
      kernel_of("fence.acq_rel.cta;\nmbarrier.arrive.relaxed.cluster.shared::cluster.b64", acquire),
      "nothing orders");
}

TEST_CASE("who has only read says so to another block at any scope") {
  // The second block reads its slot and arrives at the first one's mbarrier, which then writes.
  const auto kernel_of = [](const std::string& arrive) {
    return "st.shared.u32 [%r5], %r1;\n" + kMeet +
           "@%p4 bra FIRST; @%p1 bra OVER; ld.shared.u32 %r8, [slot];\n" + arrive +
           "bra OVER;\nFIRST:\n" + wait("") +
           "@%p1 bra OVER; st.shared::cluster.u32 [%r6], 7;\nOVER:\n";
  };
  CHECK(accused_of(kernel_of("mbarrier.arrive.shared::cluster.b64 _, [%r7];\n")) == "");
  races(kernel_of("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r7];\n"),
        "nothing orders");
}

TEST_CASE("a relaxed arrival at the cluster's barrier orders what a fence has covered") {
  const std::string before = "st.shared.u32 [%r5], %r1;\n";
  const std::string after = "ld.shared::cluster.u32 %r8, [%r6];\n";
  CHECK(accused_of(before + kMeet + after) == "");
  races(before + kMeetRelaxed + after, "nothing orders");
  CHECK(accused_of(before + "fence.acq_rel.cluster;\n" + kMeetRelaxed + after) == "");
  races(before + "fence.acq_rel.cta;\n" + kMeetRelaxed + after, "nothing orders");
}

TEST_CASE("an mbarrier is known to the cluster behind its barrier") {
  // kMakeBarrier has fence.mbarrier_init.release.cluster.
  const std::string arrive =
      "@%p4 bra FIRST; @!%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];\n"
      "bra OVER;\nFIRST:\n" +
      wait("") + "OVER:\n";
  CHECK(accused_of(kMeetRelaxed + arrive) == "");
  CHECK(accused_of(kMeet + arrive) == "");
  const std::string said = accused_of(arrive);
  INFO(said);
  CHECK(said.find("mbarrier") != std::string::npos);
}

TEST_CASE("blocks of a cluster meet in global memory as at its barrier") {
  const std::string write =
      "mul.wide.u32 %rd4, %r2, 256; add.u64 %rd5, %rd3, %rd4; st.global.u32 [%rd5], %r1;\n";
  const std::string read =
      "mul.wide.u32 %rd4, %r3, 256; add.u64 %rd5, %rd3, %rd4; ld.global.u32 %r8, [%rd5];\n";
  CHECK(accused_of(write + kMeet + read) == "");
  races(write + "bar.sync 0;\n" + read, "block (1,0,0)");
  // And are told apart: the barrier of the first write is none of the second.
  races(write + kMeet + read + write + read, "nothing orders the two");
  CHECK(accused_of(write + kMeet + read + kMeet + write) == "");
}

TEST_CASE("a lane acts for itself until its warp meets") {
  // In the first block the second warp's lane 0 waits for what all lanes of the first have written.
  const auto kernel_of = [](const std::string& before, const std::string& after) {
    return kMeet +
           "@!%p4 bra OVER; setp.ge.u32 %p5, %r1, 32; @%p5 bra TAKE;\nst.shared.u32 [%r5], %r1;\n" +
           before + "@!%p1 mbarrier.arrive.shared::cta.b64 _, [bar];\nbra OVER;\nTAKE:\n" +
           "setp.ne.u32 %p6, %r1, 32; @%p6 bra THERE;\n" + wait("") + "THERE:\n" + after +
           "sub.u32 %r8, %r5, 128; ld.shared.u32 %r9, [%r8];\nOVER:\n";
  };
  const std::string meet = "bar.warp.sync 0xffffffff;\n";
  CHECK(accused_of(kernel_of(meet, meet)) == "");
  races(kernel_of("", meet), "nothing orders");
  races(kernel_of(meet, ""), "nothing orders");
  // A vote brings lanes together, but orders no memory.
  races(kernel_of("vote.sync.any.pred %p6, %p1, 0xffffffff;\n", meet), "nothing orders");
}

}  // namespace fa_tune::test
