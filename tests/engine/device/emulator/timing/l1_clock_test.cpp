#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/device/emulator/timing/sm_simulation.hpp"
#include "engine/device/emulator/timing/timing_model.hpp"
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
  const double held = run.clocks(work);
  work.l1.again = 0;
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

TEST_CASE("L1: it keeps no more than it has room for beside shared memory") {
  // A CTA reads 128 KB, twice.
  const auto twice = [](std::uint32_t blocks, const std::string& more = "") {
    std::string body;
    for (int round = 0; round < 2; ++round) {
      body += at("shl.b32 %r3, %r1, 4;");
      for (int i = 0; i < 8; ++i)
        body += "ld.global.v4.u32 {%r4,%r5,%r6,%r7}, [%rd2]; add.u64 %rd2, %rd2, 16384;\n";
    }
    return L1Run(body + more, 1024, blocks);
  };
  emulator::DeviceProfile profile = test::small_profile();
  profile.sms = 1;
  const auto l2_us = [&](const L1Run& run) {
    return run.detail(profile)["units_us"]["l2"].get<double>();
  };
  profile.shared_per_sm = 200 * 1024;
  const L1Run reader = twice(1);
  const double kept = l2_us(reader);
  CHECK(kept > 0);
  profile.shared_per_sm = 36 * 1024;  // and 28 KB beside: room for half of it
  CHECK(l2_us(reader) == doctest::Approx(1.5 * kept).epsilon(0.05));
  // What a CTA writes takes room too, half of it: a third of what it reads is kept, not a half.
  std::string writes = at("shl.b32 %r3, %r1, 4; add.u32 %r3, %r3, 0x40000;");
  for (int i = 0; i < 8; ++i)
    writes += "st.global.v4.u32 [%rd2], {%r4,%r5,%r6,%r7}; add.u64 %rd2, %rd2, 16384;\n";
  const L1Run writer = twice(1, writes);
  const double further = l2_us(writer) - 1.5 * kept;
  profile.shared_per_sm = 200 * 1024;
  CHECK(further - (l2_us(writer) - kept) == doctest::Approx(kept / 6).epsilon(0.05));
  // Two CTAs at a time have half as much room each.
  profile.max_threads_per_sm = 2048;
  CHECK(l2_us(twice(2)) > 2.05 * kept);
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
  CHECK(l1_hits(loads[0], {.again = 0, .neighbours = 0.75}) == doctest::Approx(0.75 * 8));
  CHECK(l1_hits(loads[1], {.again = 0, .neighbours = 0.75}) == 0);
}

TEST_CASE("L1: L2 moves less where neighbours read the same") {
  const auto l2_us = [](const Sampling& sample) {
    return L1Run(kSharedAndOwn, 32, 64, sample).detail()["units_us"]["l2"].get<double>();
  };
  // Half of what they read is shared, and an SM has many of them.
  CHECK(l2_us({{0, 4}, {{4, 6}}}) < 0.6 * l2_us({{0, 4}}));
}

}  // namespace fa_tune::test
