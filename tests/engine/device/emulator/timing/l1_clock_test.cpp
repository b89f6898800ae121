#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/device/emulator/prediction/prediction.hpp"
#include "engine/device/emulator/timing/l1_cache.hpp"
#include "engine/device/emulator/timing/sm_simulation.hpp"
#include "tests/engine/device/emulator/support.hpp"
#include "tests/engine/device/emulator/timing/counted_run.hpp"

// Global memory in L1: how long its loads take, what they take of the memory that shared memory is a
// part of, and what they leave L2.

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

constexpr const char* kL1Declarations =
    ".reg .b32 %r<40>; .reg .b64 %rd<20>;\n.shared .align 16 .b8 s[16384];\n"
    "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, s;\n";

struct L1Run : CountedRun {
  explicit L1Run(const std::string& body, std::uint32_t threads = 32, std::uint32_t blocks = 1,
                 const Sampling& sample = {})
      : CountedRun(kL1Declarations + body, TensorRule::ampere, threads, blocks, 1, sample) {}

  nlohmann::json detail(const emulator::DeviceProfile& profile = test::small_profile()) const {
    return nlohmann::json::parse(time(profile).detail_json);
  }
  // Of the SM that runs its first block.
  double clocks(const SmWork& work) const {
    const emulator::DeviceProfile profile = test::small_profile();
    return simulate_sm(make_machine_code(program, profile, record), record, profile, work).clocks;
  }
};

// A lane's address in %rd2: `offset` makes %r3 of lane %r1.
std::string at(const std::string& offset) {
  return offset + " cvt.u64.u32 %rd2, %r3; add.u64 %rd2, %rd1, %rd2;\n";
}

// Each load waits for the one before, and all are of what the first has read.
std::string chain(int loads) {
  std::string body = at("shl.b32 %r3, %r1, 2;");
  for (int i = 0; i < loads; ++i)
    body +=
        "ld.global.u32 %r4, [%rd2]; and.b32 %r4, %r4, 0; cvt.u64.u32 %rd3, %r4; "
        "add.u64 %rd2, %rd2, %rd3;\n";
  return body;
}

}  // namespace

TEST_CASE("L1: wavefronts are those of its banks, and four lines are looked up a clock") {
  const auto wavefronts = [](const std::string& offset, const std::string& load) {
    return L1Run(at(offset) + load).record.totals.global_wavefronts;
  };
  const std::string word = "ld.global.u32 %r4, [%rd2];";
  CHECK(wavefronts("shl.b32 %r3, %r1, 2;", word) == 1);
  CHECK(wavefronts("mov.u32 %r3, 0;", word) == 1);
  CHECK(wavefronts("shl.b32 %r3, %r1, 2; add.u32 %r3, %r3, 4;", word) == 1);  // of two lines
  CHECK(wavefronts("shl.b32 %r3, %r1, 3;", word) == 2);
  CHECK(wavefronts("shl.b32 %r3, %r1, 7;", word) == 32);
  CHECK(wavefronts("mul.lo.u32 %r3, %r1, 132;", word) == 8);  // all banks, 32 lines
  CHECK(wavefronts("shl.b32 %r3, %r1, 3;", "ld.global.v2.u32 {%r4,%r5}, [%rd2];") == 2);
  const std::string four = "ld.global.v4.u32 {%r4,%r5,%r6,%r7}, [%rd2];";
  CHECK(wavefronts("shl.b32 %r3, %r1, 4;", four) == 4);
  CHECK(wavefronts("mov.u32 %r3, 0;", four) == 4);  // of shared memory it would be 2
  CHECK(wavefronts("shl.b32 %r3, %r1, 3;", "st.global.u32 [%rd2], %r1;") == 2);
}

TEST_CASE("L1: they keep its memory busy, those of asynchronous copies do not") {
  const auto busy = [](const std::string& body) {
    return L1Run(body).detail()["units_us"]["shared memory"].get<double>();
  };
  const std::string address = at("shl.b32 %r3, %r1, 7;");
  const double one = busy(address + "ld.global.u32 %r4, [%rd1];");
  CHECK(one > 0);
  CHECK(busy(address + "ld.global.u32 %r4, [%rd2];") == doctest::Approx(32 * one).epsilon(0.05));
  CHECK(busy(address + "st.global.u32 [%rd2], %r1;") == doctest::Approx(32 * one).epsilon(0.05));
  CHECK(busy(address + "shl.b32 %r3, %r1, 4; add.u32 %r3, %r3, %r2;\n"
                       "cp.async.cg.shared.global [%r3], [%rd2], 16;") == 0);
}

TEST_CASE("L1: what a CTA reads again comes after its latency and by no L2") {
  constexpr int kLoads = 65;
  const L1Run run(chain(kLoads));
  SmWork work;
  work.l2_bytes_per_clock = 16;
  work.l1.again.fill(1);
  const double held = run.clocks(work);
  work.l1.again.fill(0);
  const emulator::DeviceProfile profile = test::small_profile();
  // 128 bytes at 16 a clock each time, beside the latencies.
  const double further = profile.l2_latency - profile.shared_latency + 8;
  CHECK(run.clocks(work) - held == doctest::Approx((kLoads - 1) * further).epsilon(0.02));
  // It is L2's work once, however often it is read: of its slices, or of the way to them.
  for (const double slices : {0.0, 100.0}) {
    CAPTURE(slices);
    emulator::DeviceProfile chip = profile;
    chip.l2_hit_gb_per_s = chip.l2_miss_gb_per_s = slices;
    const auto l2 = [&](int loads) {
      return L1Run(chain(loads)).detail(chip)["units_us"]["l2"].get<double>();
    };
    CHECK(l2(1) > 0);
    CHECK(l2(20) == doctest::Approx(l2(1)).epsilon(0.01));
  }
}

// Each thread moves 16 bytes, eight times: 128 KB of a CTA of 1024.
std::string eight_times(const std::string& move, const std::string& offset = "0") {
  std::string body = at("shl.b32 %r3, %r1, 4; add.u32 %r3, %r3, " + offset + ";");
  for (int i = 0; i < 8; ++i) body += move + " add.u64 %rd2, %rd2, 16384;\n";
  return body;
}
const std::string kReads = eight_times("ld.global.v4.u32 {%r4,%r5,%r6,%r7}, [%rd2];");
const std::string kWrites = eight_times("st.global.v4.u32 [%rd2], {%r4,%r5,%r6,%r7};", "0x40000");

TEST_CASE("L1: it keeps no more than it has room for beside shared memory") {
  emulator::DeviceProfile profile = test::small_profile();
  profile.sms = 1;
  // What L2 moves, in what it moves for 128 KB.
  const auto moved = [&](const std::string& body, double shared_kb, std::uint32_t blocks = 1) {
    profile.shared_per_sm = static_cast<int>(shared_kb * 1024);
    const auto l2_us = [&](const std::string& of, std::uint32_t count) {
      return L1Run(of, 1024, count).detail(profile)["units_us"]["l2"].get<double>();
    };
    return l2_us(body, blocks) / l2_us(kReads, 1);
  };
  const auto near = [](double times) { return doctest::Approx(times).epsilon(0.03); };
  CHECK(moved(kReads + kReads, 200) == near(1));
  CHECK(moved(kReads + kReads, 36) == near(1.5));  // and 28 KB beside: room for half of it
  // What a CTA writes takes room too, if it does so before it reads again.
  CHECK(moved(kReads + kReads + kWrites, 36) == near(2.5));
  CHECK(moved(kReads + kWrites + kReads, 36) == near(2.75));
  // What is read again at once is there, however much is read later.
  const std::string pairs = eight_times(
      "ld.global.v4.u32 {%r4,%r5,%r6,%r7}, [%rd2]; ld.global.v4.u32 {%r8,%r9,%r10,%r11}, [%rd2];");
  CHECK(moved(pairs, 36) == near(1));
  // Two CTAs at a time have half as much room each.
  profile.max_threads_per_sm = 2048;
  CHECK(moved(kReads + kReads, 36, 2) == near(2 * 1.75));
}

TEST_CASE("L1: shared memory has one of a few sizes") {
  emulator::DeviceProfile profile = test::small_profile();
  profile.shared_per_sm = 100 * 1024;
  profile.shared_reserved_per_block = 1024;
  const auto room = [&](int shared_bytes, int blocks) {
    emulator::KernelResources resources;
    resources.static_shared_bytes = shared_bytes;
    return l1_bytes(profile, resources, {}, blocks) / 1024;
  };
  CHECK(room(0, 1) == 128 - 8);
  CHECK(room(7 * 1024, 1) == 128 - 8);
  CHECK(room(7 * 1024 + 1, 1) == 128 - 16);
  CHECK(room(7 * 1024, 4) == 128 - 32);
  CHECK(room(80 * 1024, 1) == 28);
}

TEST_CASE("L1: how long ago a sector was read is told in what a warp has moved since") {
  // Loads of four sectors a warp.
  const std::string load = "ld.global.u32 %r4, [%rd2];";
  const auto reuse = [&](const std::string& body, std::uint32_t threads) {
    const L1Run run(body, threads);
    std::vector<std::uint64_t> moved;  // by the reads that came back, each class once
    for (const ReuseClass& each : run.record.reuse())
      if (each.reads > 0) moved.insert(moved.end(), {each.reads, each.moved / each.reads});
    return moved;
  };
  using Classes = std::vector<std::uint64_t>;
  const std::string same = at("shl.b32 %r3, %r1, 2;");
  CHECK(reuse(same + load, 32) == Classes{});
  CHECK(reuse(same + load + load, 32) == Classes{4, 4});
  const std::string other = at("shl.b32 %r3, %r1, 2; add.u32 %r3, %r3, 1024;");
  CHECK(reuse(same + load + other + load + same + load, 32) == Classes{4, 8});
  // Warps run side by side: what another one reads at the same point is no time ago.
  CHECK(reuse(at("and.b32 %r3, %r1, 31; shl.b32 %r3, %r3, 2;") + load, 128) == Classes{12, 0});
  std::size_t before = 0;
  for (std::uint32_t sectors = 1; sectors < 1U << 26U; sectors += 1 + sectors / 7) {
    const std::size_t now = reuse_class_of(sectors);
    CHECK(now >= before);
    CHECK(now < kReuseClasses);
    before = now;
  }
  CHECK(reuse_class_of(64) != reuse_class_of(96));
}

TEST_CASE("L1: of several loads the slowest is waited for, so a share of hits helps a pair less") {
  // Half of what is read again is there. `independent` loads are asked for, and then waited for.
  const auto clocks = [](int independent) {
    std::string body = at("shl.b32 %r3, %r1, 2;") + "mov.u32 %r6, 0;\nAGAIN:\n";
    for (int i = 0; i < independent; ++i)
      body += "ld.global.u32 %r1" + std::to_string(i) + ", [%rd2+" + std::to_string(128 * i) + "];";
    for (int i = 0; i < independent; ++i) body += "add.u32 %r6, %r6, %r1" + std::to_string(i) + ";";
    body +=
        "and.b32 %r7, %r6, 0; cvt.u64.u32 %rd3, %r7; add.u64 %rd2, %rd2, %rd3;\n"
        "add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 400; @%p1 bra AGAIN;\n";
    const L1Run run(".reg .pred %p<2>;\n" + body);
    const auto with = [&](double share) {
      SmWork work;
      work.l1.again.fill(share);
      return run.clocks(work);
    };
    return (with(0.5) - with(1)) / (with(0) - with(1));
  };
  CHECK(clocks(1) == doctest::Approx(0.5).epsilon(0.05));
  CHECK(clocks(4) > 0.8);
}

// Each of its blocks reads four sectors that all read, and four of its own.
constexpr const char* kSharedAndOwn =
    "shl.b32 %r3, %r1, 2; cvt.u64.u32 %rd2, %r3; add.u64 %rd2, %rd1, %rd2;\n"
    "ld.global.u32 %r4, [%rd2]; mov.u32 %r5, %ctaid.x; shl.b32 %r5, %r5, 12; add.u32 %r5, %r5, "
    "4096;\n"
    "cvt.u64.u32 %rd3, %r5; add.u64 %rd3, %rd2, %rd3; ld.global.u32 %r6, [%rd3];\n";

TEST_CASE("L1: a block's neighbour on its SM is as many blocks away as there are SMs") {
  const auto neighbours = [](std::uint64_t total, std::uint64_t sms) {
    return neighbours_of(sample_evenly(total, 8), total, sms);
  };
  using Pairs = std::map<std::uint64_t, std::uint64_t>;
  CHECK(neighbours(800, 132) == Pairs{{114, 246}, {342, 474}, {570, 702}, {799, 667}});
  CHECK(neighbours(132, 132).empty());
  CHECK(neighbours(4, 2) == Pairs{});  // all are looked at
  CHECK(neighbours(133, 132) == Pairs{});
}

TEST_CASE("L1: what a CTA's neighbour reads as well is in L1 for all on an SM but the first") {
  const L1Run run(kSharedAndOwn, 32, 8, {{0, 4}, {{4, 6}}});
  CHECK(run.record.totals.blocks == 2);  // the neighbour is not counted
  const auto& ops = run.record.ops();
  std::vector<OpCounters> loads;
  for (const OpCounters& op : ops)
    if (op.global_sectors > 0) loads.push_back(op);
  REQUIRE(loads.size() == 2);
  CHECK(loads[0].sectors_compared == 4);
  CHECK(loads[0].sectors_of_neighbour == 4);
  CHECK(loads[1].sectors_compared == 4);
  CHECK(loads[1].sectors_of_neighbour == 0);
  const L1Reuse l1{.again = {}, .neighbours = 0.75};
  CHECK(l1_hits(loads[0], l1) == doctest::Approx(0.75 * 8));
  CHECK(l1_hits(loads[1], l1) == 0);
  CHECK(load_sources(loads[0], l1).l1 == doctest::Approx(0.75));
  CHECK(load_sources(loads[0], l1).first == doctest::Approx(0.25));
  CHECK(load_sources(loads[1], l1).first == 1);
}

TEST_CASE("L1: L2 moves less where neighbours read the same") {
  const auto l2_us = [](const Sampling& sample) {
    return L1Run(kSharedAndOwn, 32, 64, sample).detail()["units_us"]["l2"].get<double>();
  };
  // Half of what they read is shared, and an SM has many of them.
  CHECK(l2_us({{0, 4}, {{4, 6}}}) < 0.6 * l2_us({{0, 4}}));
}

}  // namespace fa_tune::test
