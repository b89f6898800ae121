#include "engine/device/emulator/timing/chip_traffic.hpp"

#include <doctest/doctest.h>

#include "tests/engine/device/emulator/support.hpp"

// What all SMs together ask of L2 and DRAM.

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

// 4 GB that bulk copies bring, `readers` times each, and nothing else.
Traffic copies_of(double readers) {
  Traffic traffic;
  traffic.read = traffic.copied = traffic.bulk = 4e9;
  traffic.distinct = traffic.read / readers;
  return traffic;
}

}  // namespace

TEST_CASE("bulk copies for the same data meet on their way: up to 2 at a time, 2.3 at first") {
  emulator::DeviceProfile profile = test::small_profile();
  profile.l2_bytes = 8'000'000'000;
  profile.l2_hit_gb_per_s = profile.l2_miss_gb_per_s = 1000;
  profile.l2_port_bytes_per_clock_sm = 1e9;
  const auto rate = [&](double readers) {
    const Traffic traffic = copies_of(readers);
    return bulk_gain(profile, traffic, profile.sms).later *
           l2_bytes_per_clock(profile, traffic, profile.sms);
  };
  const double alone = rate(1);
  CHECK(alone == doctest::Approx(profile.l2_bytes_per_clock_sm));
  CHECK(rate(1.5) == doctest::Approx(1.5 * alone));
  CHECK(rate(3) == doctest::Approx(2 * alone));
  CHECK(rate(64) == doctest::Approx(2 * alone));
  const auto gains = [&](double readers) {
    return bulk_gain(profile, copies_of(readers), profile.sms);
  };
  CHECK(gains(64).at_first / gains(64).later == doctest::Approx(2.3 / 2));
  CHECK(gains(1.5).at_first == gains(1.5).later);
  // Blocks that have unlike work drift apart.
  Traffic causal = copies_of(64);
  causal.unlike = 0.3;
  const double some = bulk_gain(profile, causal, profile.sms).later;
  causal.unlike = 0.55;
  CHECK(bulk_gain(profile, causal, profile.sms).later == doctest::Approx(0.85 * gains(64).later));
  CHECK(some < gains(64).later);
  CHECK(some > bulk_gain(profile, causal, profile.sms).later);
  // L2 gives them once.
  CHECK(l2_us(profile, copies_of(1), 0, 0) == doctest::Approx(4000));
  CHECK(l2_us(profile, copies_of(64), 0, 0) == doctest::Approx(4000 / 2.0));
  // An SM takes no more than its port does.
  profile.l2_port_bytes_per_clock_sm = 1.5 * alone;
  CHECK(rate(64) == doctest::Approx(1.5 * alone));
  // Of what DRAM brings, no more than it has.
  profile.l2_bytes = 1024;
  profile.dram_gb_per_s = 1e-6;
  CHECK(bulk_gain(profile, copies_of(64), profile.sms).later == 1);
}

TEST_CASE("what copies bring is told from what is read once beside them") {
  Traffic traffic = copies_of(16);
  traffic.read += 1e9;
  traffic.written = 1e9;
  traffic.distinct += 2e9;
  CHECK(readers_of_copies(traffic) == doctest::Approx(16));
  traffic.copied = 0;
  CHECK(readers_of_copies(traffic) == 1);
}

// Measured on an H200 (a log, 2026-11-29): how many clocks longer bulk copies of 4 KB took where DRAM
// had the data, 132 SMs with 1 or 5 blocks each. It was 478 where each block read data of its own.
TEST_CASE("of the blocks that read the same data, who are with the first wait for DRAM") {
  const auto clocks = [](double readers, double heads, double slots) {
    return 478 * share_of_dram_latency(readers * heads, slots, readers);
  };
  CHECK(clocks(1, 2112, 132) == doctest::Approx(478));
  CHECK(clocks(64, 64, 5 * 132) == doctest::Approx(416).epsilon(0.05));
  CHECK(clocks(256, 8, 132) == doctest::Approx(46).epsilon(0.1));
  CHECK(clocks(256, 8, 5 * 132) == doctest::Approx(367).epsilon(0.1));
  CHECK(clocks(512, 8, 132) == doctest::Approx(25).epsilon(0.2));
  CHECK(clocks(512, 8, 5 * 132) == doctest::Approx(192).epsilon(0.05));
  // All at once, all wait for all of it.
  CHECK(clocks(64, 2, 128) == doctest::Approx(478));
  CHECK(share_of_dram_latency(0, 0, 0) == 1);
}

}  // namespace fa_tune::test
