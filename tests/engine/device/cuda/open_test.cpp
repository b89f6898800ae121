#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "fake_driver.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::cuda::fake;
using test::has;

namespace {

std::string machine_error(int index) {
  try {
    cuda::open_cuda(index);
  } catch (const MachineError& error) {
    const std::string text = error.what();
    CHECK(text.find('\n') == std::string::npos);
    return text;
  }
  return "no error";
}

}  // namespace

TEST_CASE("without the driver's library there is no GPU, and one line says so") {
  const FakeDriver driver;
  setenv("FA_TUNE_LIBCUDA", "/nowhere/libcuda.so.1", 1);
  const std::string text = machine_error(0);
  CHECK(has(text, "/nowhere/libcuda.so.1"));
  CHECK(has(text, "no CUDA driver"));
  CHECK(cuda::list_cuda().empty());
}

TEST_CASE("a library that is not the driver is told by the function it lacks") {
  const FakeDriver driver;
  setenv("FA_TUNE_LIBCUDA", "libm.so.6", 1);
  CHECK(has(machine_error(0), "libm.so.6 has no function cuInit"));
  CHECK(cuda::list_cuda().empty());
}

TEST_CASE("a driver without a device, or that does not start") {
  const FakeDriver driver;
  driver->gpus = 0;
  CHECK(has(machine_error(0), "sees no GPU"));
  CHECK(cuda::list_cuda().empty());
  driver->init = 100;
  CHECK(has(machine_error(0), "(100)"));
  CHECK(cuda::list_cuda().empty());
  CHECK(driver.leaks() == 0);
}

TEST_CASE("a number too large is answered with how many there are") {
  const FakeDriver driver;
  CHECK(has(machine_error(1), "there is no cuda:1: the driver sees 1 GPU, cuda:0"));
  driver->gpus = 4;
  CHECK(has(machine_error(4), "4 GPUs, cuda:0 to cuda:3"));
  CHECK(has(machine_error(-1), "4 GPUs"));
  CHECK(machine_error(3) == "no error");
  CHECK(driver.leaks() == 0);
}

TEST_CASE("all GPUs are listed without a context on any") {
  const FakeDriver driver;
  driver->gpus = 3;
  const auto gpus = cuda::list_cuda();
  REQUIRE(gpus.size() == 3);
  CHECK(gpus[1].id == "cuda:1");
  CHECK(gpus[1].name == "Fake GPU 1");
  CHECK(driver.calls("cuDevicePrimaryCtxRetain") == 0);
  driver.fail("cuDeviceGetName:5:999");
  CHECK_NOTHROW(cuda::list_cuda());
}

TEST_CASE("two devices in one thread do not take each other's context") {
  const FakeDriver driver;
  driver->gpus = 2;
  driver->kernels["k"] = {{}, nullptr, 5, cuda::kSuccess, false};
  const auto first = cuda::open_cuda(0);
  {
    const auto second = cuda::open_cuda(1);
    CHECK(second->load(image_of("k")));
  }
  CHECK(first->load(image_of("k")));
}

}  // namespace fa_tune::test
