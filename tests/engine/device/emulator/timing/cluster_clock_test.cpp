#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/device/emulator/timing/simulated_phases.hpp"
#include "engine/device/emulator/timing/sm_simulation.hpp"
#include "tests/engine/device/emulator/support.hpp"
#include "tests/engine/device/emulator/timing/counted_run.hpp"

// The time of barriers of a cluster, on two CTAs of a few warps.

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

const std::string kArrive = "barrier.cluster.arrive;\n";
const std::string kWait = "barrier.cluster.wait;\n";

// 4 clocks each, and a store of what they make, as other work may move across a barrier.
std::string work(int instructions) {
  return many("fma.rn.f32 %f1, %f1, %f1, %f1;\n", instructions) + "st.shared.f32 [%r2], %f1;\n";
}

// Each warp of a CTA has a body.
SmTime time_of(const std::vector<std::string>& bodies) {
  std::string text =
      ".reg .b32 %r<4>; .reg .f32 %f<4>; .reg .pred %p<2>; .shared .b8 s[8];\n"
      "mov.u32 %r1, %tid.x; mov.u32 %r2, s;\n";
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const std::string next = "NEXT" + std::to_string(i);
    text += "setp.lt.u32 %p1, %r1, " + std::to_string(32 * (i + 1)) + "; @!%p1 bra " + next +
            ";\n" + bodies[i] + "bra END;\n" + next + ":\n";
  }
  const CountedRun run(text + "END: ret;", TensorRule::hopper,
                       static_cast<std::uint32_t>(32 * bodies.size()), 2, 2);
  const emulator::DeviceProfile profile = test::small_profile();
  SmWork work;
  return simulate_sm(make_machine_code(run.program, profile, run.record), run.record, profile,
                     work);
}

double barrier_waits(const SmTime& time) {
  return time.waits[static_cast<std::size_t>(Wait::barrier)];
}

}  // namespace

TEST_CASE("a warp waits at a cluster's barrier for those of its own CTA") {
  const SmTime time = time_of({work(300) + kArrive + kWait, kArrive + kWait});
  CHECK(time.clocks == doctest::Approx(300 * 4 + kClusterBarrierClocks).epsilon(0.05));
  // The second warp all the time, the first until the cluster's others are told.
  CHECK(barrier_waits(time) == doctest::Approx(300 * 4 + 2 * kClusterBarrierClocks).epsilon(0.05));
}

TEST_CASE("a CTA with products of warpgroups takes its time to follow another, in a cluster more") {
  const CountedRun run(".reg .f32 %f<4>;\n" + many("fma.rn.f32 %f1, %f1, %f1, %f1;\n", 50) + "ret;",
                       TensorRule::hopper, 32, 8);
  emulator::DeviceProfile profile = test::small_profile();
  profile.block_start_clocks = 100;
  MachineCode code = make_machine_code(run.program, profile, run.record);
  const auto clocks = [&](bool has_products, std::uint64_t ranks) {
    code.has_warpgroup_products = has_products;
    SmWork work;
    work.grid = run.launch.grid;
    work.ranks = ranks;
    return simulate_sm(code, run.record, profile, work).clocks;
  };
  // Seven times: 381 to 475 clocks were measured, and 568 to 662.
  const double more = (clocks(true, 1) - clocks(false, 1)) / 7;
  CHECK(more >= 381 - 100);
  CHECK(more <= 475 - 100);
  const double more_in_clusters = (clocks(true, 2) - clocks(false, 2)) / 7;
  CHECK(more_in_clusters >= 568 - 100);
  CHECK(more_in_clusters <= 662 - 100);
}

TEST_CASE("work that falls from cluster to cluster is known from a few of them") {
  // Of sixteen clusters the first has most to do, and the second CTA of each more than the first.
  const auto us = [](const emulator::Sampling& sample) {
    const std::string text =
        ".reg .b32 %r<8>; .reg .f32 %f<4>; .reg .pred %p<2>;\n"
        "mov.u32 %r1, %ctaid.x; and.b32 %r2, %r1, 1; shr.u32 %r3, %r1, 1;\n"
        "sub.u32 %r3, 16, %r3; shl.b32 %r3, %r3, 1; mad.lo.u32 %r3, %r2, 5, %r3;\nL:\n" +
        many("fma.rn.f32 %f1, %f1, %f1, %f1;\n", 50) +
        "sub.u32 %r3, %r3, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra L; ret;";
    const CountedRun run(text, TensorRule::hopper, 32, 32, 2, sample);
    emulator::KernelResources fat;
    fat.static_shared_bytes = 60'000;  // one CTA an SM
    const emulator::DeviceProfile profile = test::small_profile();
    return run.time(profile, fat).us - profile.launch_us;
  };
  CHECK(us({.clusters = {0, 5, 10, 15}}) == doctest::Approx(us({})).epsilon(0.03));
}

TEST_CASE("what lies between arriving at a cluster's barrier and waiting there is not waiting") {
  const SmTime apart = time_of({work(300) + kArrive + kWait, kArrive + work(300) + kWait});
  const SmTime after = time_of({work(300) + kArrive + kWait, kArrive + kWait + work(300)});
  CHECK(apart.clocks == doctest::Approx(300 * 4 + kClusterBarrierClocks).epsilon(0.05));
  CHECK(after.clocks == doctest::Approx(2 * 300 * 4 + kClusterBarrierClocks).epsilon(0.05));
  // Who comes when the barrier is open goes on.
  const SmTime late = time_of({kArrive + kWait, kArrive + work(300) + kWait});
  CHECK(late.clocks == doctest::Approx(300 * 4).epsilon(0.05));
}

TEST_CASE("each round of a cluster's barrier is waited for") {
  const std::string round = kArrive + kWait;
  const SmTime time = time_of({round + work(300) + round, round + round + work(300)});
  CHECK(time.clocks == doctest::Approx(2 * 300 * 4 + 2 * kClusterBarrierClocks).epsilon(0.05));
}

TEST_CASE("a warp that has ended is not waited for at a cluster's barrier") {
  const SmTime ended = time_of({work(300) + kArrive + kWait, ""});
  CHECK(ended.clocks == doctest::Approx(300 * 4 + kClusterBarrierClocks).epsilon(0.05));
  const SmTime left = time_of({work(300), kArrive + kWait});
  CHECK(left.clocks == doctest::Approx(300 * 4 + kClusterBarrierClocks).epsilon(0.05));
  // The second goes on when the first has ended, not when the third has come.
  const SmTime three =
      time_of({work(300), kArrive + kWait + work(300), kArrive + work(900) + kWait});
  CHECK(three.clocks == doctest::Approx(900 * 4).epsilon(0.05));
}

}  // namespace fa_tune::test
