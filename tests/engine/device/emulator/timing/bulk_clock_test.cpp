#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/device/emulator/prediction/prediction.hpp"
#include "engine/device/emulator/timing/product_queue.hpp"
#include "engine/device/emulator/timing/simulated_phases.hpp"
#include "engine/device/emulator/timing/sm_simulation.hpp"
#include "engine/device/emulator/timing/timing_model.hpp"
#include "tests/engine/device/emulator/support.hpp"
#include "tests/engine/device/emulator/timing/counted_run.hpp"

// The time of mbarriers, bulk copies and wgmma, on kernels of a few instructions.

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

constexpr const char* kBulkDeclarations =
    ".reg .b32 %r<40>; .reg .f32 %f<80>; .reg .b64 %rd<20>; .reg .pred %p<4>;\n"
    ".shared .align 1024 .b8 s[65536];\n.shared .align 8 .b64 bar[8];\n";

// Runs a body whose thread 0 makes the mbarriers.
struct BulkRun : CountedRun {
  explicit BulkRun(const std::string& body, std::uint32_t threads = 32, std::uint32_t blocks = 1,
                   std::uint32_t cluster = 1)
      : CountedRun(kBulkDeclarations + body, TensorRule::hopper, threads, blocks, cluster) {}

  // In one order, in which other rules are easier to tell.
  SmTime sm(const BulkGain& gain = {}, double share = 16, int resident = 1,
            std::optional<IssueOrder> order = IssueOrder::in_turn) const {
    const emulator::DeviceProfile profile = test::small_profile();
    SmWork work;
    work.resident = resident;
    work.bulk_gain = gain;
    work.l2_bytes_per_clock = share;
    work.store_bytes_per_clock = 16;
    work.l2_port_bytes_per_clock = 64;
    work.order = order;
    return simulate_sm(make_machine_code(program, profile, record), record, profile, work);
  }
  double clocks() const { return sm().clocks; }
};

const std::string kBegin =
    "mov.u32 %r1, %tid.x; mov.u32 %r2, s; mov.u32 %r3, bar; ld.param.u64 %rd1, [out];\n"
    "setp.ne.u32 %p1, %r1, 0; @%p1 bra MADE;\n"
    "mbarrier.init.shared.b64 [%r3], 1; mbarrier.init.shared.b64 [%r3+8], 1;\n"
    "mbarrier.init.shared.b64 [%r3+16], 1; mbarrier.init.shared.b64 [%r3+24], 1;\n"
    "fence.mbarrier_init.release.cluster;\nMADE: bar.sync 0;\n";

std::string copy(int bytes, int barrier) {
  const std::string size = std::to_string(bytes);
  const std::string bar = "[%r3+" + std::to_string(8 * barrier) + "]";
  return "mbarrier.arrive.expect_tx.shared.b64 %rd3, " + bar + ", " + size +
         ";\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], " +
         size + ", " + bar + ";\n";
}

std::string wait(int barrier, int parity = 0) {
  static int number = 0;
  const std::string label = "W" + std::to_string(number++);
  return label + ": mbarrier.try_wait.parity.shared.b64 %p2, [%r3+" + std::to_string(8 * barrier) +
         "], " + std::to_string(parity) + "; @!%p2 bra " + label + ";\n";
}

const std::string kInRegisters = "{%r10, %r11, %r12, %r13}";

// Products of one warpgroup, n clocks each, and beside them another's instructions.
BulkRun run_beside(int products, const std::string& instruction, int times,
                   const std::string& a = kInRegisters, int n = 128, std::uint32_t threads = 256) {
  constexpr std::uint64_t kNoSwizzle = 128 / 16 << 16 | std::uint64_t{256 / 16} << 32;
  std::string sums = "%f2";
  for (int i = 1; i < n / 2; ++i) sums += ", %f" + std::to_string(2 + i);
  const std::string product = "wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) +
                              "k16.f32.f16.f16 {" + sums + "}, " + a + ", %rd9, 1, 1, 1, " +
                              (a == kInRegisters ? "" : "0, ") + "0;\n";
  return BulkRun(kBegin + "shr.u32 %r4, %r2, 4; cvt.u64.u32 %rd9, %r4;\nor.b64 %rd9, %rd9, " +
                     std::to_string(kNoSwizzle) +
                     ";\nsetp.ge.u32 %p3, %r1, 128; @%p3 bra OTHER;\n" +
                     (products == 0 ? ""
                                    : "wgmma.fence.sync.aligned;\n" + many(product, products) +
                                          "wgmma.commit_group.sync.aligned;\n"
                                          "wgmma.wait_group.sync.aligned 0;\n") +
                     "bra END;\nOTHER:\n" + many(instruction, times) + "END: ret;",
                 threads);
}

double beside(int products, const std::string& instruction, int times) {
  return run_beside(products, instruction, times).clocks();
}

// By thread 0 alone.
double one_thread(const std::string& body) {
  return BulkRun(kBegin + "@%p1 bra END;\n" + body + "END: ret;").clocks();
}

}  // namespace

TEST_CASE("a wait is for its own phase: part 0 does not wait for part 3") {
  const std::string parts = copy(1024, 0) + copy(1024, 1) + copy(1024, 2) + copy(16384, 3);
  const double first = one_thread(parts + wait(0));
  const double last = one_thread(parts + wait(3));
  // Between them lie 2 KB and 16 KB at 16 bytes a clock.
  CHECK(last - first == doctest::Approx((2048 + 16384) / 16.0).epsilon(0.05));
}

TEST_CASE("a bulk copy takes its bytes' time, and the next one comes after it") {
  const double small = one_thread(copy(1024, 0) + wait(0));
  const double large = one_thread(copy(17408, 0) + wait(0));
  CHECK(large - small == doctest::Approx(16384 / 16.0).epsilon(0.05));
}

TEST_CASE("bulk copies meet those of other SMs the more while a launch begins") {
  // As much as L2's share takes 10,000 clocks for, at once or behind as many.
  const std::string copies =
      copy(40960, 0) + copy(40960, 1) + copy(40960, 2) + copy(40960, 3) + wait(3);
  const std::string pause = many("ex2.approx.ftz.f32 %f1, %f1;\n", 900);
  const auto clocks = [&](const std::string& before, const BulkGain& gain) {
    return BulkRun(kBegin + "@%p1 bra END;\n" + before + copies + "END: ret;").sm(gain).clocks;
  };
  CHECK(clocks("", {2, 1}) == clocks("", {2, 2}));
  CHECK(clocks("", {2, 1}) < clocks("", {1, 1}) - 4000);
  CHECK(clocks(pause, {2, 1}) == clocks(pause, {1, 1}));
  CHECK(clocks(pause, {2, 1}) > clocks(pause, {2, 2}) + 2000);
}

TEST_CASE("bulk copies beyond the SM's share wait for others, but not at first, nor in step") {
  const std::string copies =
      copy(40960, 0) + copy(40960, 1) + copy(40960, 2) + copy(40960, 3) + wait(3);
  const std::string pause = many("ex2.approx.ftz.f32 %f1, %f1;\n", 900);
  // What they take beyond their way through the port, if as many meet as are needed.
  const auto waited = [&](const std::string& before, int resident) {
    const BulkRun run(kBegin + "@%p1 bra END;\n" + before + copies + "END: ret;");
    return run.sm({1e6, 1e6}, 16, resident).clocks - run.sm({1, 1}, 1e6, resident).clocks;
  };
  CHECK(waited("", 2) == 0);
  CHECK(waited(pause, 2) == kMeetingClocks);
  CHECK(waited(pause, 1) == 0);  // one CTA of each SM
}

TEST_CASE("a producer waits for consumers: more stages, less time") {
  // Warp 0 copies eight parts, warp 1 works on each; `stages` places, full at 0.., empty behind.
  const auto clocks = [](int stages) {
    std::string producer;
    std::string consumer;
    for (int part = 0; part < 8; ++part) {
      const int place = part % stages;
      const int round = part / stages;
      if (round > 0) producer += wait(place + 2, (round - 1) % 2);
      producer += copy(4096, place);
      consumer += wait(place, round % 2) + many("fma.rn.f32 %f1, %f1, %f1, %f1;\n", 100) +
                  "mbarrier.arrive.shared.b64 %rd4, [%r3+" + std::to_string(8 * (place + 2)) +
                  "];\n";
    }
    return BulkRun(kBegin +
                       "and.b32 %r4, %r1, 31; setp.ne.u32 %p1, %r4, 0; @%p1 bra END;\n"
                       "setp.ne.u32 %p3, %r1, 0; @%p3 bra CONSUMER;\n" +
                       producer + "bra END;\nCONSUMER:\n" + consumer + "END: ret;",
                   64)
        .clocks();
  };
  const double one = clocks(1);
  const double two = clocks(2);
  // One place: each copy begins when the work before it is done.
  CHECK(one > 8 * (4096 / 16 + 400));
  CHECK(two < 0.8 * one);
}

TEST_CASE("a wait for bulk groups leaves the later ones under way") {
  const std::string store =
      "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 8192;\n"
      "cp.async.bulk.commit_group;\n";
  const double first = one_thread(store + store + "cp.async.bulk.wait_group 1;");
  const double both = one_thread(store + store + "cp.async.bulk.wait_group 0;");
  CHECK(both - first == doctest::Approx(8192 / 16.0).epsilon(0.05));
  const double read = one_thread(store + store + "cp.async.bulk.wait_group.read 0;");
  CHECK(read == both);
  // A fence is past them when they are in L2, which their sources' having been read does not say.
  const std::string stored = store + "cp.async.bulk.wait_group.read 0;";
  const double fence = one_thread("membar.gl;") - one_thread("");
  CHECK(one_thread(stored + "membar.gl;") - one_thread(stored) ==
        doctest::Approx(fence + test::small_profile().l2_latency).epsilon(0.05));
}

TEST_CASE("bytes of a multicast come from L2 once") {
  const auto run = [](const std::string& mask) {
    const std::string body =
        kBegin + "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n@%p1 bra END;\n" +
        "mbarrier.arrive.expect_tx.shared.b64 %rd3, [%r3], " + (mask.empty() ? "8192" : "16384") +
        ";\nmov.u32 %r5, %cluster_ctarank; shl.b32 %r5, %r5, 13; add.u32 %r2, %r2, %r5;\n" +
        "mov.u16 %h1, 3;\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes" +
        (mask.empty() ? "" : ".multicast::cluster") + " [%r2], [%rd1], 8192, [%r3]" +
        (mask.empty() ? "" : ", %h1") + ";\n" + wait(0) +
        "END: bar.warp.sync 0xffffffff; barrier.cluster.arrive.aligned; "
        "barrier.cluster.wait.aligned;";
    return BulkRun(".reg .b16 %h<4>;\n" + body, 32, 2, 2);
  };
  const BulkRun alone = run("");
  const BulkRun both = run("3");
  CHECK(alone.record.totals.bulk_bytes == 2 * 8192);
  CHECK(both.record.totals.bulk_bytes == 2 * 8192);
  REQUIRE(both.record.blocks().size() == 2);
  const auto& events = both.record.blocks()[0].warps[0].events;
  const auto load = std::ranges::find(events, AsyncEvent::Kind::load, &AsyncEvent::kind);
  REQUIRE(load != events.end());
  CHECK(load->receivers == 2);
  CHECK(load->bytes == 8192);
  // Two CTAs' bytes fit through the port in the time in which one's come from L2.
  CHECK(both.clocks() == doctest::Approx(alone.clocks()).epsilon(0.05));
}

TEST_CASE("wgmma of few columns: an A in shared memory takes longer to read than to multiply") {
  const auto product = [](const std::string& a, const std::string& n, const std::string& sums) {
    GlobalMemory memory;
    const auto loaded = load_program(
        test::kernel(
            ".param .u64 out",
            kBulkDeclarations +
                ("wgmma.mma_async.sync.aligned.m64n" + n + "k16.f32.f16.f16 {" + sums + "}, " + a +
                 ", %rd9, 1, 1, 1, " + (a == "%rd8" ? "0, 0;\n" : "0;\n") + "ret;")),
        "k", TensorRule::hopper, memory);
    const std::string message = loaded ? "" : loaded.error().message;
    REQUIRE(message == "");
    const MachineCode code = make_machine_code(*loaded, test::small_profile(), Record(*loaded));
    const auto found = std::ranges::find(code.costs, Role::tensor_async, &Cost::role);
    REQUIRE(found != code.costs.end());
    return *found;
  };
  const std::string four = "%f0, %f1, %f2, %f3";
  std::string sums = "%f0";
  for (int i = 1; i < 64; ++i) sums += ", %f" + std::to_string(i);
  // 2 * 64 * n * 16 operations at 2048 a clock; 32 bytes of each row at 128 a clock. In the end all
  // clocks are multiplied by the bias, which is not for these.
  const auto clocks = [](double by_themselves) {
    return doctest::Approx(by_themselves / kModelBias);
  };
  CHECK(product("{%r0, %r1, %r2, %r3}", "8", four).holds_unit() == clocks(8));
  CHECK(product("%rd8", "128", sums).holds_unit() == clocks(128));
  const Cost narrow = product("%rd8", "8", four);
  CHECK(narrow.holds_unit() == clocks(32 * (8 + 64) / 128.0));
  // What the tensor cores and shared memory work for it, a warp's quarter of the latter.
  CHECK(narrow.busy == clocks(8));
  CHECK(narrow.operands == clocks(32 * (8 + 64) / 128.0 / 4));
}

TEST_CASE("shared memory works for the operands of a warpgroup's products") {
  const BulkRun none = run_beside(0, "", 0);
  const auto more_of = [&](const BulkRun& run) {
    const auto wavefronts = run.record.totals.shared_wavefronts;
    CHECK(wavefronts - run.record.totals.shared_wavefronts_ideal ==
          none.record.totals.shared_wavefronts - none.record.totals.shared_wavefronts_ideal);
    return wavefronts - none.record.totals.shared_wavefronts;
  };
  // 128 rows of B, and 64 of A, with 32 bytes each.
  const BulkRun in_registers = run_beside(10, "", 0);
  const BulkRun in_shared = run_beside(10, "", 0, "%rd9");
  CHECK(more_of(in_registers) == 10 * 128 / 4);
  CHECK(more_of(in_shared) == 10 * (128 + 64) / 4);
  const auto work = [](const BulkRun& run, Unit unit) {
    return run.sm().busy[static_cast<std::size_t>(unit)];
  };
  CHECK(work(in_shared, Unit::memory) - work(none, Unit::memory) ==
        doctest::Approx(10.0 * (128 + 64) / 4 / kModelBias));
  CHECK(work(in_shared, Unit::tensor) == doctest::Approx(work(in_registers, Unit::tensor)));
  // Of few columns the products wait for them, 18 clocks, and those with A in registers to be issued.
  const auto clocks_of_50 = [](const std::string& a) {
    return run_beside(100, "", 0, a, 8).clocks() - run_beside(50, "", 0, a, 8).clocks();
  };
  CHECK(clocks_of_50("%rd9") == doctest::Approx(50 * 18 / kModelBias).epsilon(0.02));
  CHECK(clocks_of_50(kInRegisters) ==
        doctest::Approx(50 * ProductQueue::kRegisterIssueClocks).epsilon(0.02));
}

TEST_CASE("a warpgroup's products leave other warps one slot in four, and lose nothing by it") {
  // Two chains: every second clock where nothing else is.
  const std::string two = "fma.rn.f32 %f1, %f1, %f1, %f1;\nfma.rn.f32 %f70, %f70, %f70, %f70;\n";
  CHECK(beside(0, two, 400) - beside(0, two, 200) == doctest::Approx(200 * 4).epsilon(0.01));
  constexpr int kProducts = 40;
  const double alone = beside(kProducts, "", 0);
  const double running = kProducts * 128 / kModelBias;
  CHECK(alone == doctest::Approx(running).epsilon(0.05));
  CHECK(beside(kProducts, two, 400) == doctest::Approx(alone).epsilon(0.02));
  // What is left when the products are done goes on faster.
  const double left = 2 * 800 - running / ProductQueue::kSlotClocks;
  CHECK(beside(kProducts, two, 800) == doctest::Approx(running + 2 * left).epsilon(0.05));
}

TEST_CASE("integers need no slots beside a warpgroup's products") {
  constexpr int kProducts = 10;
  constexpr int kTimes = 800;
  const double running = kProducts * 128 / kModelBias;
  const auto longer = [](const std::string& two) {
    return beside(kProducts, two, kTimes) - beside(0, two, kTimes);
  };
  // Two chains: the ALU takes one every other clock.
  CHECK(longer("max.s32 %r14, %r14, %r12;\nmax.s32 %r15, %r15, %r12;\n") < 20);
  CHECK(longer("selp.b32 %r14, %r14, %r12, %p2;\nselp.b32 %r15, %r15, %r12, %p2;\n") < 20);
  const double floats = longer("max.f32 %f1, %f1, %f71;\nmax.f32 %f70, %f70, %f71;\n");
  CHECK(floats == doctest::Approx(running / 2).epsilon(0.1));
}

TEST_CASE("what keeps a product from beginning does so in its own partition") {
  // Four chains, of which one is ready in each clock, of the warps from this thread on.
  const auto clocks = [](int thread) {
    std::string four;
    for (const char* const f : {"%f1", "%f70", "%f71", "%f72"})
      four += fmt::format("fma.rn.f32 {0}, {0}, {0}, {0};\n", f);
    const std::string others = fmt::format("setp.lt.u32 %p1, %r1, {}; @%p1 bra END;\n", thread);
    return beside(30, others + many(four, 200), 1);
  };
  CHECK(clocks(160) < 30 * 135);
  // The chains are there for the first products alone.
  CHECK(clocks(128) > clocks(160) + 10 * ProductQueue::kDelayAtMost);
}

TEST_CASE("warps that wait for the same slots get on alike, or one of them goes on first") {
  // Beside products two warpgroups have instructions, the second half as many as the first and then
  // a chain of its own. That begins when the first has done as many, or when it has done all.
  constexpr int kProducts = 15;
  constexpr int kSteps = 150;
  const std::string step = "fma.rn.f32 %f1, %f1, %f1, %f1;\n";
  const std::string chain = many("ex2.approx.f32 %f1, %f1;\n", 35);
  const BulkRun run =
      run_beside(kProducts,
                 "setp.ge.u32 %p1, %r1, 256; @%p1 bra SECOND;\n" + many(step, 2 * kSteps) +
                     "bra END;\nSECOND:\n" + many(step, kSteps) + chain,
                 1, kInRegisters, 128, 384);
  const auto clocks = [&](std::optional<IssueOrder> order) {
    return run.sm({}, 16, 1, order).clocks;
  };
  const double slots = 3 * kSteps * ProductQueue::kSlotClocks;
  const double in_turn = clocks(IssueOrder::in_turn);
  const double goes_on = clocks(IssueOrder::goes_on);
  CHECK(in_turn < slots + 350);
  CHECK(goes_on > in_turn + 100);
  CHECK(clocks({}) == doctest::Approx((in_turn + goes_on) / 2));
}

TEST_CASE("a test of an mbarrier whose phase is over takes its time") {
  const auto clocks = [](int tests) {
    std::string body =
        "mbarrier.arrive.shared.b64 %rd4, [%r3];\n" + many("fma.rn.f32 %f1, %f1, %f1, %f1;\n", 50);
    for (int i = 0; i < tests; ++i) body += wait(0);
    return one_thread(body);
  };
  const double each = (clocks(9) - clocks(1)) / 8;
  CHECK(each >= kPhaseTestClocks);
  CHECK(each <= kPhaseTestClocks + 5);  // its issue, and the branch's
}

TEST_CASE("bulk bytes are traffic: what L2 cannot hold comes from DRAM") {
  const BulkRun run(kBegin + "@%p1 bra END;\n" + copy(32768, 0) + wait(0) + "END: ret;", 32, 4);
  emulator::DeviceProfile profile = test::small_profile();
  profile.l2_bytes = 1024;
  profile.dram_gb_per_s = 0.001;  // a byte a nanosecond
  const Prediction slow = predict(profile, {}, run.launch, run.program, run.record, 32768);
  CHECK(slow.bound_by == "dram");
  // The warps wait for the bytes, so that the time is one of the simulated SM.
  CHECK(slow.us == doctest::Approx(32768 * kModelBias + profile.launch_us).epsilon(0.001));
}

// The second warp works when the first has. Were both numbers taken for one barrier, it would not
// wait for that.
TEST_CASE("barriers whose number is in a register meet by that number") {
  const std::string work =
      many("fma.rn.f32 %f1, %f1, %f1, %f1;\n", 100) + "st.shared.f32 [%r2+4096], %f1;\n";
  const double clocks =
      BulkRun(kBegin + "mov.u32 %r5, 5;\nmov.u32 %r6, 6;\nsetp.lt.u32 %p2, %r1, 32;\n" +
                  "@!%p2 bra SECOND;\nbar.arrive %r5, 64;\n" + work + "bar.arrive %r6, 64;\n" +
                  "bra END;\nSECOND: bar.sync %r6, 64;\n" + work + "bar.sync %r5, 64;\nEND: ret;",
              64)
          .clocks();
  // 4 clocks each.
  CHECK(clocks > 2 * 400);
  CHECK(clocks < 2 * 400 + 200);
}

}  // namespace fa_tune::test
