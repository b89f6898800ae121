#include <doctest/doctest.h>

#include "engine/device/local/open.hpp"
#include "engine/util/error.hpp"
#include "fake_driver.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::cuda::fake;

namespace {

const std::filesystem::path kRoot = FA_TUNE_ROOT;

std::string opened(const std::string& name) {
  return open_device(name, load_profile("l4", kRoot), kRoot)->info().id;
}

}  // namespace

TEST_CASE("a device is opened by its name") {
  const FakeDriver driver;
  driver->gpus = 2;
  CHECK(opened("cuda") == "cuda:0");
  CHECK(opened("cuda:0") == "cuda:0");
  CHECK(opened("cuda:1") == "cuda:1");
  CHECK(opened("emulator:h100") == "emulator:h100");
  CHECK_THROWS_AS(opened("cuda:2"), MachineError);
  CHECK(driver.leaks() == 0);
}

TEST_CASE("auto is the first GPU, and without one the emulator of the target") {
  const FakeDriver driver;
  CHECK(opened("auto") == "cuda:0");
  driver->gpus = 0;
  CHECK(opened("auto") == "emulator:l4");
  setenv("FA_TUNE_LIBCUDA", "/nowhere/libcuda.so.1", 1);
  CHECK(opened("auto") == "emulator:l4");
}

TEST_CASE("a name of no known form is answered with the forms, before any driver is touched") {
  const FakeDriver driver;
  for (const std::string name : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda: 1",
                                 "cuda:99999999999", "emulator", "emulator:", "Auto", "auto "}) {
    CAPTURE(name);
    try {
      opened(name);
      FAIL("no exception");
    } catch (const UserError& error) {
      const std::string text = error.what();
      for (const char* form : {"auto", "cuda:N", "emulator:NAME"}) {
        CHECK(text.find(form) != std::string::npos);
      }
      CHECK(text.find("'" + name + "'") != std::string::npos);
      CHECK(text.find('\n') == std::string::npos);
    }
  }
  CHECK(driver->calls.empty());
}

TEST_CASE("an emulator of an unknown profile is the user's error") {
  const FakeDriver driver;
  CHECK_THROWS_AS(opened("emulator:no_such_gpu"), UserError);
}

TEST_CASE("GPUs are listed, and their absence is an empty list") {
  const FakeDriver driver;
  driver->gpus = 2;
  CHECK(list_gpus().size() == 2);
  setenv("FA_TUNE_LIBCUDA", "/nowhere/libcuda.so.1", 1);
  CHECK(list_gpus().empty());
}

}  // namespace fa_tune::test
