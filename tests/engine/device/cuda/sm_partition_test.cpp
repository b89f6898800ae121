#include <algorithm>

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "fake_driver.hpp"
#include "tests/helpers.hpp"

// A device on some of a GPU's SMs. The fake GPU has 132, and gives them in twos, from 8 on.

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::cuda::fake;
using test::has;

namespace {

// The message with which cuda:0 refuses a part of `sms` SMs.
std::string refusal(int sms) {
  try {
    cuda::open_cuda(0, {.sms = sms});
  } catch (const MachineError& error) {
    const std::string text = error.what();
    CHECK(text.find('\n') == std::string::npos);
    CHECK(has(text, "cuda:0 gives no part of " + std::to_string(sms) + " SMs: "));
    return text;
  }
  return "no error";
}

}  // namespace

TEST_CASE("a device on 58 SMs names as many, and its kernels run on these alone") {
  const FakeDriver driver;
  driver->kernels["k"] = {{}, nullptr, 5, cuda::kSuccess, false};
  {
    const auto part = cuda::open_cuda(0, {.sms = 58});
    const auto whole = cuda::open_cuda(0);
    CHECK(part->info().sms == 58);
    CHECK(whole->info().sms == 132);
    for (Device* device : {part.get(), whole.get()}) {
      const auto kernel = device->load(image_of("k"));
      REQUIRE(kernel);
      Launch launch;
      launch.kernel = *kernel;
      REQUIRE(device->launch(launch));
    }
    REQUIRE(driver->launches.size() == 2);
    CHECK(driver->launches[0].sms == 58);
    CHECK(driver->launches[1].sms == 0);
    CHECK(driver->live.at("green context") == 1);
  }
  CHECK(driver.leaks() == 0);
  // The primary context that the green one rests on goes after it.
  const auto& calls = driver->calls;
  const auto destroyed = std::ranges::find(calls, "cuGreenCtxDestroy");
  CHECK(std::find(destroyed, calls.end(), "cuDevicePrimaryCtxRelease_v2") != calls.end());
}

TEST_CASE("all SMs of a GPU are a part too, and the smallest one has eight") {
  const FakeDriver driver;
  for (const int sms : {8, 132}) {
    CAPTURE(sms);
    CHECK(cuda::open_cuda(0, {.sms = sms})->info().sms == sms);
  }
  CHECK(driver.leaks() == 0);
}

TEST_CASE("a part that the GPU does not give is refused with what it gives") {
  const FakeDriver driver;
  CHECK(has(refusal(57), "the nearest that it gives has 58"));
  CHECK(has(refusal(3), "the nearest that it gives has 8"));
  CHECK(has(refusal(133), "it has 132"));
  CHECK(has(refusal(-1), "a part has one SM at least"));
  CHECK(driver.calls("cuGreenCtxCreate") == 0);
  CHECK(driver.leaks() == 0);
}

TEST_CASE("0 SMs of a device are all, without a green context") {
  const FakeDriver driver;
  CHECK(cuda::open_cuda(0, {.sms = 0})->info().sms == 132);
  CHECK(driver.calls("cuGreenCtxCreate") == 0);
}

TEST_CASE("a driver from before CUDA 12.4 gives no part, and all of its GPU") {
  const FakeDriver driver(FAKE_LIBCUDA_12_3);
  CHECK(has(refusal(58), "its driver is older than CUDA 12.4"));
  CHECK(cuda::open_cuda(0)->info().sms == 132);
  CHECK(driver.leaks() == 0);
}

TEST_CASE("whichever call for a part fails is named, and what was made goes back") {
  for (const std::string call :
       {"cuDeviceGetDevResource", "cuDevSmResourceSplitByCount", "cuDevResourceGenerateDesc",
        "cuGreenCtxCreate", "cuCtxFromGreenCtx"}) {
    CAPTURE(call);
    const FakeDriver driver;
    driver.fail(call + ":1:915");
    const std::string text = refusal(58);
    CHECK(has(text, call + ": FAKE_ERROR_915 (915)"));
    CHECK(driver.calls("cuGreenCtxDestroy") == (call == "cuCtxFromGreenCtx" ? 1 : 0));
    CHECK(driver.leaks() == 0);
  }
  // Behind it the stream of the device.
  const FakeDriver driver;
  driver.fail("cuStreamCreate:1:2");
  CHECK_THROWS_AS(cuda::open_cuda(0, {.sms = 58}), MachineError);
  CHECK(driver.calls("cuGreenCtxDestroy") == 1);
  CHECK(driver.leaks() == 0);
}

}  // namespace fa_tune::test
