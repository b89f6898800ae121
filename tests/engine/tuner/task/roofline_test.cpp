#include "engine/tuner/task/roofline.hpp"

#include <doctest/doctest.h>

#include "tests/engine/tuner/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::tuner;

namespace {

DeviceInfo gpu(const std::string& arch, int sms) {
  DeviceInfo info;
  info.arch = arch;
  info.sms = sms;
  return info;
}

}  // namespace

TEST_CASE("roofline: the dearer of operations and bytes, three quarters of it") {
  const DeviceProfile h100 = load_profile("h100", test::root());
  // 132 SMs x 4096 flop x 1980 MHz = 1070.5 TFLOP/s.
  const Roofline computing = roofline(h100, 132, 1070.5e9, 1e6);
  CHECK(computing.us == doctest::Approx(750).epsilon(0.001));
  CHECK(computing.because == "1.07e+03 GFLOP at 1071 TFLOP/s (profile h100, 132 SMs)");
  // 132 ports x 118 bytes x 1980 MHz = 30.84 TB/s.
  const Roofline moving = roofline(h100, 132, 1e6, 30.84e6);
  CHECK(moving.us == doctest::Approx(0.75).epsilon(0.001));
  CHECK(moving.because == "30.8 MB at 30.8 TB/s (profile h100, 132 SMs)");
  // A page shows what L2 gives all of them at once, 7.7 TB/s: nobody reads at the ports' rate.
  CHECK(ceilings(h100, 132).l2_bytes_per_us == doctest::Approx(7.71e6).epsilon(0.001));
  // 8-bit elements go twice as fast.
  CHECK(roofline(h100, 132, 1070.5e9, 1e6, 2).us == doctest::Approx(375).epsilon(0.001));
  // Half the SMs take twice as long.
  CHECK(roofline(h100, 66, 1070.5e9, 1e6).us == doctest::Approx(1500).epsilon(0.001));
}

TEST_CASE("roofline: a device is known by its architecture and SMs, not by the space's target") {
  const DeviceProfile l4 = load_profile("l4", test::root());
  CHECK(profile_of(gpu("sm_89", l4.sms), l4, test::root())->name == "l4");
  CHECK(profile_of(gpu("sm_90", 132), l4, test::root())->name == "h100");
  CHECK(profile_of(gpu("sm_90", 114), l4, test::root())->name == "h100");
  CHECK_FALSE(profile_of(gpu("sm_70", 80), l4, test::root()));
}

TEST_CASE("roofline: an H200 is no H100, though it has its architecture and SMs") {
  const DeviceProfile h100 = load_profile("h100", test::root());
  DeviceInfo device = gpu("sm_90", 132);
  device.name = "NVIDIA H200";
  CHECK(profile_of(device, h100, test::root())->name == "h200");
  device.name = "NVIDIA H100 80GB HBM3";
  CHECK(profile_of(device, h100, test::root())->name == "h100");
  // A target of the user's own, of the same GPU.
  DeviceProfile own = h100;
  own.name = "mine";
  CHECK(profile_of(device, own, test::root())->name == "mine");
}

}  // namespace fa_tune::test
