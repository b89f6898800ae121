#include <algorithm>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/device/emulator/prediction/prediction.hpp"
#include "engine/device/emulator/timing/sm_simulation.hpp"
#include "engine/device/emulator/timing/timing_model.hpp"
#include "engine/device/emulator/trace/counters.hpp"
#include "tests/engine/device/emulator/support.hpp"
#include "tests/engine/device/emulator/timing/counted_run.hpp"

// The model of time on kernels small enough to work out by hand. test::small_profile has 4 SMs, one
// f32 fma a clock and partition (latency 4), an alu that takes 2 clocks, a special unit that takes
// 8 (latency 17), 4-byte accesses to shared memory of 23 clocks.

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text + "\n";
  return all;
}

// A kernel after a counting run of `blocks` blocks of `threads` threads.
struct Ran : CountedRun {
  Ran(const std::string& body, std::uint32_t threads, std::uint32_t blocks = 1)
      : CountedRun(kClockDeclarations + body, TensorRule::ampere, threads, blocks) {}

  double clocks(const emulator::DeviceProfile& profile, SmWork work = {}) const {
    return simulate_sm(make_machine_code(program, profile, record), record, profile, work).clocks;
  }
};

const std::string kDependentFma = "fma.rn.f32 %f1, %f1, %f2, %f3;";

}  // namespace

TEST_CASE("a chain costs its latencies, independent work its issue slots") {
  const emulator::DeviceProfile profile = test::small_profile();
  // 100 fma that wait for each other: 4 clocks each, and a few for the end of the kernel.
  const double chain = Ran(repeated(kDependentFma, 100), 32).clocks(profile);
  CHECK(chain >= 396);
  CHECK(chain <= 410);
  // Ten chains of ten: an fma a clock.
  std::string independent;
  for (int i = 0; i < 100; ++i) {
    const std::string r = "%f" + std::to_string(4 + i % 10);
    independent += "fma.rn.f32 " + r + ", " + r + ", %f2, %f3;\n";
  }
  const double parallel = Ran(independent, 32).clocks(profile);
  CHECK(parallel >= 100);
  CHECK(parallel <= 115);
  // 50 exponentials, each of its own: 8 clocks each of the partition's unit.
  std::string exponentials;
  for (int i = 0; i < 50; ++i) {
    const std::string r = "%f" + std::to_string(4 + i % 25);
    exponentials += "ex2.approx.ftz.f32 " + r + ", " + r + ";\n";
  }
  const double special = Ran(exponentials, 32).clocks(profile);
  CHECK(special >= 392);
  CHECK(special <= 425);
}

TEST_CASE("warps of one partition share it, of four do not") {
  const emulator::DeviceProfile profile = test::small_profile();
  const std::string body = repeated(kDependentFma, 200);
  const double one = Ran(body, 32).clocks(profile);
  CHECK(Ran(body, 128).clocks(profile) == doctest::Approx(one).epsilon(0.02));
  // Four warps a partition fill the latency of 4; eight take twice as long.
  CHECK(Ran(body, 512).clocks(profile) == doctest::Approx(one).epsilon(0.05));
  CHECK(Ran(body, 1024).clocks(profile) == doctest::Approx(2 * one).epsilon(0.05));
}

TEST_CASE("products of mma.sync and what other warps issue delay each other") {
  emulator::DeviceProfile profile = test::small_profile();
  profile.tensor_f16_flop_per_clock_sm = 4096 * 4 / 6.0;  // a product takes 6 clocks
  std::string products;
  for (int i = 0; i < 60; ++i) {
    const std::string sums = fmt::format("{{%f{}, %f{}, %f{}, %f{}}}", 4 + i % 4 * 4, 5 + i % 4 * 4,
                                         6 + i % 4 * 4, 7 + i % 4 * 4);
    products += "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + sums +
                ", {%r2, %r2, %r2, %r2}, {%r3, %r3}, " + sums + ";\n";
  }
  std::string additions;
  for (int i = 0; i < 200; ++i)
    additions += fmt::format("add.rn.f32 %f{0}, %f{0}, %f2;\n", 4 + i % 10);
  // Each partition has a warp of the first and one of the second.
  const auto clocks = [&](const std::string& first, const std::string& second) {
    return Ran("mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 128;\n@%p1 bra OTHERS;\n" + first +
                   "ret;\nOTHERS:\n" + second,
               256)
        .clocks(profile);
  };
  const double alone = clocks(products, "");
  CHECK(alone >= 360);
  CHECK(alone <= 395);
  CHECK(clocks("", additions) <= 215);
  // Ready in every clock, additions go first.
  const double beside = clocks(products, additions);
  CHECK(beside >= 500);
  CHECK(beside <= 600);
  // An H200's 64 products take 1.35 times as long beside one every four clocks, more than the model has
  // (microbench_h200_scheduling.json, "bursts").
  const double chain = clocks(products, repeated("add.rn.f32 %f1, %f1, %f2;", 85));
  CHECK(chain / alone >= 1.12);
  CHECK(chain / alone <= 1.18);
  // The ALU, which takes one every other clock, waits while products read their operands.
  std::string maxima;
  for (int i = 0; i < 400; ++i) maxima += fmt::format("max.f32 %f{0}, %f{0}, %f2;\n", 4 + i % 10);
  const double waits = clocks(products, maxima) - clocks("", maxima);
  CHECK(waits >= 60 * 0.8);
  CHECK(waits <= 60 * 2);
}

TEST_CASE("bank conflicts cost their wavefronts") {
  const emulator::DeviceProfile profile = test::small_profile();
  const auto loads = [](int shift) {
    std::string body = "mov.u32 %r1, %tid.x; and.b32 %r1, %r1, 31; shl.b32 %r1, %r1, " +
                       std::to_string(shift) + "; mov.u32 %r2, s; add.u32 %r1, %r1, %r2;\n";
    for (int i = 0; i < 64; ++i)
      body += "ld.shared.f32 %f" + std::to_string(4 + i % 30) + ", [%r1];\n";
    return body;
  };
  // 128 threads load 64 times: 256 wavefronts, or 32 times as many from one bank.
  const double free = Ran(loads(2), 128).clocks(profile);
  const double conflicts = Ran(loads(7), 128).clocks(profile);
  // The kernel ends when its last loads have been issued, which may wait for 40 clocks.
  CHECK(free >= 256 - 40);
  CHECK(free <= 330);
  CHECK(conflicts >= 32 * 256 - 100);
  CHECK(conflicts <= 33 * 256 + 200);
}

TEST_CASE("a barrier waits for the slowest warp") {
  const emulator::DeviceProfile profile = test::small_profile();
  const std::string slow = repeated(kDependentFma, 300);
  const std::string body = "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 32; @%p1 bra J;\n" + slow +
                           "J: bar.sync 0;\n" + slow;
  const Ran ran(body, 64);
  const double clocks = ran.clocks(profile);
  CHECK(clocks >= 2 * 1200);
  CHECK(clocks <= 2 * 1200 + 80);
  const SmTime time =
      simulate_sm(make_machine_code(ran.program, profile, ran.record), ran.record, profile, {});
  CHECK(time.waits[static_cast<std::size_t>(Wait::barrier)] == doctest::Approx(1200).epsilon(0.05));
}

// Half of the warps work while the others wait at a barrier, so that some wait wherever it ends.
TEST_CASE("what a simulation does not look at goes on like what it saw") {
  const emulator::DeviceProfile profile = test::small_profile();
  const std::string work = repeated(kDependentFma, 40);
  const auto run = [&](int rounds) {
    const Ran ran(
        "mov.u32 %r1, %tid.x; mov.u32 %r2, 0; setp.lt.u32 %p1, %r1, 128;\n"
        "L: @!%p1 bra J;\n" +
            work + "J: bar.sync 0; @%p1 bra K;\n" + work +
            "K: bar.sync 0; add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, " + std::to_string(rounds) +
            "; @%p2 bra L;",
        256);
    SmWork work_of_sm;
    work_of_sm.most_instructions = 600'000;
    return simulate_sm(make_machine_code(ran.program, profile, ran.record), ran.record, profile,
                       work_of_sm);
  };
  const SmTime whole = run(480);
  const SmTime cut = run(5 * 480);
  CHECK(whole.share == 1);
  CHECK(cut.share < 0.8);
  CHECK(cut.clocks == doctest::Approx(5 * whole.clocks).epsilon(0.05));
}

TEST_CASE("what ptxas leaves out costs nothing") {
  const emulator::DeviceProfile profile = test::small_profile();
  const auto cost = [&](const std::string& body, const std::string& opcode) {
    const Ran ran(body, 32);
    const MachineCode code = make_machine_code(ran.program, profile, ran.record);
    double issues = 0;
    for (std::size_t i = 0; i < ran.program.ops.size(); ++i) {
      if (ran.program.names[ran.program.ops[i].name] == opcode) issues += code.costs[i].issues;
    }
    return issues;
  };
  CHECK(cost("mov.u32 %r1, %r2;", "mov.u32") == 0);
  CHECK(cost("mul.f32 %f1, %f2, %f3; add.f32 %f4, %f1, %f5;", "mul.f32") == 0);
  CHECK(cost("mul.f32 %f1, %f2, %f3; add.f32 %f4, %f1, %f1; sub.f32 %f5, %f1, %f4;", "mul.f32") ==
        1);
  CHECK(cost("mov.u32 %r2, s; add.u32 %r1, %r2, 64; ld.shared.f32 %f1, [%r1];", "add.u32") == 0);
  CHECK(cost("add.u32 %r1, %r2, 64; add.u32 %r3, %r1, %r1;", "add.u32") == 2);
  CHECK(cost("add.u64 %rd1, %rd2, %rd3;", "add.u64") == 2);
  CHECK(cost("mul.wide.u32 %rd1, %r2, 4; add.u64 %rd2, %rd1, %rd3;", "mul.wide.u32") == 0);
  // In a loop: %r3 does not change, %r4 does.
  const std::string loop =
      "mov.u32 %r1, 0; mov.u32 %r5, 9;\nL: xor.b32 %r3, %r5, 7; or.b32 %r4, %r1, 8;\n"
      "add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 4; @%p1 bra L;";
  CHECK(cost(loop, "xor.b32") == 0);
  CHECK(cost(loop, "or.b32") == 1);
}

TEST_CASE("loads move up to hide their latency, not over a store or a barrier") {
  const emulator::DeviceProfile profile = test::small_profile();
  std::string apart;
  std::string joined;
  for (int i = 0; i < 8; ++i) {
    const std::string f = "%f" + std::to_string(4 + i);
    const std::string step = "ld.shared.f32 " + f + ", [s+" + std::to_string(4 * i) +
                             "]; fma.rn.f32 %f1, " + f + ", " + f + ", %f1;\n";
    apart += step;
    joined += step + "st.shared.f32 [s+4096], %f1;\n";
  }
  CHECK(Ran(apart, 32).clocks(profile) < 110);      // one latency and eight fma
  CHECK(Ran(joined, 32).clocks(profile) > 8 * 20);  // eight latencies
}

TEST_CASE("a grid pays by the busiest SM, in rounds of what it holds") {
  const emulator::DeviceProfile profile = test::small_profile();
  const std::string body = repeated(kDependentFma, 500);
  emulator::KernelResources fat;
  fat.registers = 255;  // one block of 256 threads an SM
  const auto us = [&](std::uint32_t blocks) {
    return Ran(body, 256, blocks).time(profile, fat).us;
  };
  CHECK(us(4) == doctest::Approx(us(1)).epsilon(0.01));
  CHECK(us(5) - profile.launch_us == doctest::Approx(2 * (us(4) - profile.launch_us)).epsilon(0.1));
  CHECK(us(8) == doctest::Approx(us(5)).epsilon(0.01));
  emulator::KernelResources thin;
  thin.registers = 32;  // two blocks at once
  CHECK(Ran(body, 256, 8).time(profile, thin).us < 1.2 * us(4));
}

TEST_CASE("where each block has an SM to itself the longest counts, wherever it stands") {
  const emulator::DeviceProfile profile = test::small_profile();
  // One of four blocks goes round twice.
  const auto us = [&](const std::string& twice) {
    return Ran("mov.u32 %r0, %ctaid.x; setp." + twice +
                   "; mov.u32 %r1, 1;\n@%p1 mov.u32 %r1, 2;\nL:\n" + repeated(kDependentFma, 500) +
                   "sub.u32 %r1, %r1, 1; setp.ne.u32 %p2, %r1, 0; @%p2 bra L;",
               32, 4)
               .time(profile)
               .us -
           profile.launch_us;
  };
  const double none = us("eq.u32 %p1, %r0, 4");
  for (const char* which : {"0", "1", "3"}) {
    CAPTURE(which);
    CHECK(us(std::string("eq.u32 %p1, %r0, ") + which) == doctest::Approx(2 * none).epsilon(0.02));
  }
}

TEST_CASE("fewer resources and spills never make it faster") {
  const emulator::DeviceProfile profile = test::small_profile();
  const Ran ran(repeated(kDependentFma + " bar.sync 0;", 20), 128, 64);
  double before = 0;
  for (int registers = 32; registers <= 255; registers += 16) {
    emulator::KernelResources resources;
    resources.registers = registers;
    const double after = ran.time(profile, resources).us;
    CHECK(after >= before * 0.98);  // blocks that start together meet less well
    before = after;
  }
  emulator::KernelResources resources;
  resources.registers = 64;
  before = ran.time(profile, resources).us;
  resources.spill_store_bytes = 64;
  const double spilling = ran.time(profile, resources).us;
  CHECK(spilling > before);
  resources.spill_load_bytes = 256;
  CHECK(ran.time(profile, resources).us > spilling);
}

TEST_CASE("a slower device is slower") {
  const Ran ran(repeated(kDependentFma + " ex2.approx.ftz.f32 %f1, %f1; bar.sync 0;", 50), 256, 16);
  const double base = ran.time(test::small_profile()).us;
  const auto with = [&](double emulator::DeviceProfile::*field, double factor) {
    emulator::DeviceProfile profile = test::small_profile();
    profile.*field *= factor;
    return ran.time(profile).us;
  };
  CHECK(with(&emulator::DeviceProfile::clock_mhz, 0.5) > 1.5 * base);
  CHECK(with(&emulator::DeviceProfile::special_per_clock_sm, 0.25) > base);
  CHECK(with(&emulator::DeviceProfile::arithmetic_latency, 4) > base);
  CHECK(with(&emulator::DeviceProfile::barrier_latency, 4) > base);
  CHECK(with(&emulator::DeviceProfile::launch_us, 3) == doctest::Approx(base + 2).epsilon(0.001));
}

TEST_CASE("the detail and the table say what was found") {
  const Ran ran(
      "mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 7; mov.u32 %r2, s; add.u32 %r1, %r1, %r2;\n"
      "ld.shared.f32 %f1, [%r1];\nbar.sync 0;",
      32, 8);
  const Prediction prediction = ran.time(test::small_profile());
  const auto detail = nlohmann::json::parse(prediction.detail_json);
  CHECK(detail["counters"]["shared_wavefronts"] == 8 * 32);
  CHECK(detail["counters"]["barriers"] == 8);
  REQUIRE(detail["conflicts"].size() == 1);
  CHECK(detail["conflicts"][0]["excess"] == 8 * 31);
  CHECK(detail["conflicts"][0]["instruction"] == "ld.shared.f32");
  CHECK(detail["occupancy"]["limited_by"] == "grid");
  const std::string report = counters_report(prediction.detail_json);
  CHECK(report.find("bound by: launch") != std::string::npos);
  CHECK(report.find("256 wavefronts, 248 of them for bank conflicts (97%)") != std::string::npos);
  CHECK(report.find("ld.shared.f32") != std::string::npos);
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = report.find('\n', begin);
    CHECK(std::min(end, report.size()) - begin <= 100);
  }
  CHECK(counters_report("nonsense").empty());
}

TEST_CASE("code that the instruction cache does not hold takes its time, if it is executed") {
  // Clocks an instruction, of straight code that runs once.
  const auto each = [](int length, const std::string& before = "") {
    std::string body = before;
    for (int i = 0; i < length; ++i)
      body += "fma.rn.f32 %f" + std::to_string(10 + i % 8) + ", %f1, %f2, %f3;\n";
    return Ran(body + "A: bar.sync 0;", 32).clocks(test::small_profile()) / length;
  };
  const double held = each(1900);
  CHECK(held == doctest::Approx(1).epsilon(0.05));
  CHECK(each(2800) == doctest::Approx(2).epsilon(0.05));
  CHECK(each(2200) > 1.2);
  CHECK(each(2200) < 1.8);
  // What is jumped over needs no room.
  CHECK(2800 * each(2800, "bra A;\n") < 100);
}

TEST_CASE("lanes that part are simulated one way after the other") {
  const emulator::DeviceProfile profile = test::small_profile();
  const std::string slow = repeated(kDependentFma, 100);
  const auto body = [&](const std::string& condition) {
    return "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, " + condition + "; @%p1 bra A;\n" + slow +
           "bra.uni B;\nA: " + slow + "\nB: bar.warp.sync 0xffffffff;";
  };
  const double one_way = Ran(body("32"), 32).clocks(profile);
  CHECK(Ran(body("16"), 32).clocks(profile) == doctest::Approx(2 * one_way).epsilon(0.1));
}

TEST_CASE("CTAs between those that were recorded take what lies between") {
  // Of nine, CTA n adds n + 1 times as much, one after the other on one SM.
  const auto clocks = [](const emulator::Sampling& sample) {
    const CountedRun run(std::string(kClockDeclarations) +
                             "mov.u32 %r0, %ctaid.x; add.u32 %r1, %r0, 1;\nL:\n" +
                             many("add.f32 %f2, %f2, %f1;\n", 100) +
                             "sub.u32 %r1, %r1, 1; setp.ne.u32 %p2, %r1, 0; @%p2 bra L;\n",
                         TensorRule::ampere, 32, 9, 1, sample);
    const emulator::DeviceProfile profile = test::small_profile();
    SmWork work;
    work.grid = run.launch.grid;
    return simulate_sm(make_machine_code(run.program, profile, run.record), run.record, profile,
                       work)
        .clocks;
  };
  // The nearest of the two would have 5 times 1 and 4 times 9, 41 instead of 45.
  CHECK(clocks({.clusters = {0, 8}}) == doctest::Approx(clocks({})).epsilon(0.02));
}

TEST_CASE("the SM that is done last is not always the one with most instructions") {
  // On two SMs: one block of 1,000 additions, and one of 600 exponentials, each waiting for the one
  // before, with a short one behind it.
  const auto clocks = [](int exponentials) {
    const CountedRun run(std::string(kClockDeclarations) +
                             "mov.u32 %r0, %ctaid.x;\nsetp.eq.u32 %p1, %r0, 1;\n@%p1 bra SLOW;\n" +
                             "setp.eq.u32 %p1, %r0, 2;\n@%p1 bra DONE;\n" +
                             many("add.f32 %f2, %f2, %f1;\n", 1000) + "bra DONE;\nSLOW:\n" +
                             many("ex2.approx.ftz.f32 %f1, %f1;\n", exponentials) + "DONE:\n",
                         TensorRule::ampere, 32, 3);
    const emulator::DeviceProfile profile = test::small_profile();
    SmWork work;
    work.grid = run.launch.grid;
    work.sms = 2;
    return simulate_sm(make_machine_code(run.program, profile, run.record), run.record, profile,
                       work)
        .clocks;
  };
  CHECK(clocks(600) - clocks(300) > 300 * 4);
}

TEST_CASE("a GPU's clock falls with what its tensor cores do and what L2 gives, from a load on") {
  emulator::DeviceProfile profile = test::small_profile();
  CHECK(emulator::clock_loss(profile, 1, 100) == 0);
  profile.clock_load_per_bulk_byte = 0.01;
  profile.clock_load_free = 0.5;
  profile.clock_loss_at_full_load = 0.2;
  CHECK(emulator::clock_loss(profile, 0.4, 10) == doctest::Approx(0));
  CHECK(emulator::clock_loss(profile, 0.6, 15) == doctest::Approx(0.05));
  CHECK(emulator::clock_loss(profile, 0.5, 50) == doctest::Approx(0.2));
  CHECK(emulator::clock_loss(profile, 1, 1000) == 0.5);
}

}  // namespace fa_tune::test
