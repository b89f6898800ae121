#include <doctest/doctest.h>

#include "tests/engine/device/emulator/hopper_support.hpp"

// Bulk copies under watch: who may touch what they touch, and when.

namespace fa_tune::test {

using namespace fa_tune::device;

namespace {

const std::string kStart = kHopperRegisters + R"(
  .shared .align 8 .b64 bar;
  .shared .align 128 .b8 box[4096];
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
)" + kMakeBarrier;

// What a kernel of two buffers is accused of, in one of the schedules; empty: of nothing.
std::string accused(const std::string& body) {
  const std::string ptx = kernel(".param .u64 out, .param .u64 in", kStart + body);
  for (std::uint64_t schedule = 0; schedule < kSchedules; ++schedule) {
    HopperBench bench(ptx);
    bench.launch.arguments = {bench.buffer(std::vector<std::uint32_t>(1024)),
                              bench.buffer(counting(1024))};
    bench.launch.checks = Checks::all();
    bench.launch.schedule = schedule;
    if (std::string said = bench.run(); !said.empty()) return said;
  }
  return "";
}

void found(const std::string& body, const std::string& kind, const std::string& part) {
  const std::string said = accused(body);
  INFO(body);
  INFO(said);
  CHECK(said.starts_with(kind + ": "));
  CHECK(said.find(part) != std::string::npos);
}

const std::string kLoad = R"(
  @%p1 bra LOADED;
  mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [bar], 2048;
  mov.u32 %r2, box;
  mov.u32 %r3, bar;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2], 2048, [%r3];
LOADED:
)";
// Every thread's own word of the box.
const std::string kOwnWord = "shl.b32 %r4, %r1, 2; mov.u32 %r5, box; add.u32 %r5, %r5, %r4;\n";
const std::string kStore = R"(
  @%p1 bra STORED;
  mov.u32 %r2, box;
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 512;
  cp.async.bulk.commit_group;
)";
const std::string kWaitStore = "cp.async.bulk.wait_group.read 0;\n";
const std::string kFence = "fence.proxy.async.shared::cta;\n";

}  // namespace

TEST_CASE("a bulk load that nobody waits for comes into memory that the block has left") {
  found(kLoad, "sync", "nobody waits for what it writes to shared memory before the block ends");
  // A phase before it has been waited for.
  found(
      kLoad + kWaitForBarrier + "bar.sync 0;\n@%p1 bra OVER;\n" +
          "mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [bar], 2048;\n"
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2], 2048, "
          "[%r3];\nOVER:\n",
      "sync", "nobody waits for what it writes");
  CHECK(accused(kLoad + "@%p1 bra OVER;\n" + kWaitForBarrier + "OVER:\n") == "");
}

TEST_CASE("what a bulk load brings is there for who waits for its mbarrier") {
  const std::string read = kOwnWord + "ld.shared.u32 %r6, [%r5];\n";
  CHECK(accused(kLoad + kWaitForBarrier + read) == "");
  found(kLoad + read + kWaitForBarrier, "race", "cp.async.bulk.shared::cluster.global");
  // One thread waits, and a barrier tells the others.
  const std::string alone = "@%p1 bra ALL;\n" + kWaitForBarrier + "ALL: bar.sync 0;\n";
  CHECK(accused(kLoad + alone + read) == "");
  // The box is filled again while others may still read.
  found(
      kLoad + kWaitForBarrier + read +
          "@%p1 bra OVER;\n"
          "mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [bar], 2048;\n"
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2], 2048, "
          "[%r3];\nAGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 1; @!%p2 bra "
          "AGAIN;\n"
          "OVER:\n",
      "race", "cp.async.bulk.shared::cluster.global");
}

TEST_CASE("a bulk store sees what a proxy fence has made visible") {
  const std::string write = kOwnWord + "st.shared.u32 [%r5], %r1;\n";
  const std::string end = "STORED:\n";
  CHECK(accused(write + kFence + "bar.sync 0;\n" + kStore + kWaitStore + end) == "");
  found(write + "bar.sync 0;\n" + kStore + kWaitStore + end, "race",
        "with no fence.proxy.async after that");
  // One thread's fence after the barrier covers what it then knows of.
  CHECK(accused(write + "bar.sync 0;\n" + kFence + kStore + kWaitStore + end) == "");
  found(write + kFence + kStore + kWaitStore + end, "race", "nothing orders the two");
}

TEST_CASE("the source of a bulk store is free when its group has been read") {
  const std::string write = kOwnWord + "st.shared.u32 [%r5], %r1;\n";
  const std::string before = write + kFence + "bar.sync 0;\n" + kStore;
  CHECK(accused(before + kWaitStore + "STORED: bar.sync 0;\n" + write) == "");
  found(before + "STORED: bar.sync 0;\n" + write + "@%p1 exit;\n" + kWaitStore, "race",
        "an asynchronous operation read it in cp.async.bulk.global.shared::cta");
  found(before + "STORED:\n", "sync", "exits while what it has begun is under way");
}

TEST_CASE("a copy that reads a place does not hide the threads that read it before") {
  // Who reads is numbered: threads' warps, what reads for them, mbarriers. These and `bar` are 60,
  // so that the numbers of some readers are alike in their lowest bits.
  std::string barriers = ".shared .align 8 .b64 bars[59];\n@%p1 bra MADE_ALL;\n";
  for (int i = 0; i < 59; ++i)
    barriers += "mbarrier.init.shared::cta.b64 [bars+" + std::to_string(8 * i) + "], 1;\n";
  barriers += "fence.mbarrier_init.release.cluster;\nMADE_ALL: bar.sync 0;\n";
  const auto kernel_of = [&](const std::string& copy, const std::string& told,
                             const std::string& heard) {
    return ".shared .align 4 .b32 flag;\n" + barriers + kOwnWord +
           "st.shared.u32 [%r5], %r1; @!%p1 st.shared.u32 [flag], 0;\n" + kFence +
           "bar.sync 0; setp.ge.u32 %p3, %r1, 32; @%p3 bra SECOND;\n"
           "ld.shared.u32 %r6, [%r5];\n" +
           told + "bra END;\nSECOND: setp.ge.u32 %p3, %r1, 64; @%p3 bra END;\n" + heard +
           "setp.ne.u32 %p3, %r1, 32; @%p3 bra END; mov.u32 %r2, box;\n" + copy +
           "st.shared.u32 [%r2], 7;\nEND:\n";
  };
  const std::string store =
      "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 128;\n"
      "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\n";
  const std::string move =
      "mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [bar], 128; mov.u32 %r3, bar;\n"
      "add.u32 %r7, %r2, 1024; cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx"
      "::bytes [%r7], [%r2], 128, [%r3];\n" +
      kWaitForBarrier;
  for (const std::string& copy : {store, move}) {
    const std::string meet = "bar.sync 1, 64;\n";
    CHECK(accused(kernel_of(copy, meet, meet)) == "");
    // A flag without a fence makes sure which one comes first, and orders nothing.
    found(kernel_of(copy, "st.volatile.shared.u32 [flag], 1;\n",
                    "FLAG: ld.volatile.shared.u32 %r6, [flag]; setp.eq.u32 %p2, %r6, 0;\n"
                    "@%p2 bra FLAG;\n"),
          "race", "read it in ld.shared");
  }
}

TEST_CASE("a bulk store of what nobody has written") {
  found(kOwnWord + "setp.eq.u32 %p3, %r1, 5; @!%p3 st.shared.u32 [%r5], %r1;\n" + kFence +
            "bar.sync 0;\n" + kStore + kWaitStore + "STORED:\n",
        "uninitialized", "of which nobody has written 4, the first byte 20");
}

}  // namespace fa_tune::test
