#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "engine/worker/open.hpp"

namespace fa_tune::test {

using namespace fa_tune::worker;

namespace {

using Names = std::vector<std::string>;

Names names(const std::string& text, const Names& gpus = {"cuda:0", "cuda:1"}) {
  return device_names(text, [&] { return gpus; });
}

}  // namespace

TEST_CASE("devices by name: one, several, all GPUs, so many emulators") {
  CHECK(names("auto") == Names{"auto"});
  CHECK(names("cuda:1") == Names{"cuda:1"});
  CHECK(names("cuda:1,cuda:0") == Names{"cuda:1", "cuda:0"});
  CHECK(names("cuda:all") == Names{"cuda:0", "cuda:1"});
  CHECK(names("emulator:l4,emulator:l4") == Names{"emulator:l4", "emulator:l4"});
  CHECK(names("emulator:l4*3") == Names(3, "emulator:l4"));
}

TEST_CASE("what is no list of devices is refused") {
  for (const char* bad : {"", "cuda:0,", ",cuda:0", "cuda:0,,cuda:1", "auto,cuda:0", "cuda:0*2",
                          "emulator:l4*", "emulator:l4*0", "emulator:l4*65", "emulator:l4*2x",
                          "emulator:l4*-1", "emulator:l4*99999999999999999999"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(names(bad), UserError);
  }
  for (const char* twice : {"cuda:0,cuda:0", "cuda:all,cuda:1"})
    CHECK_THROWS_WITH_AS(names(twice), doctest::Contains("is named twice"), UserError);
  CHECK_THROWS_AS(names("cuda:all", {}), MachineError);
}

}  // namespace fa_tune::test
