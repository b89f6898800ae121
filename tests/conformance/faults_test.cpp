#include <doctest/doctest.h>

#include "engine/device/local/open.hpp"
#include "tests/cached_nvrtc.hpp"
#include "tools/lone/kernel_file.hpp"

// Planted faults: each is found and rightly named, and its correct twin is not accused.

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::kernel;
using namespace fa_tune::lone;

TEST_CASE("every planted fault is rightly named and no correct twin is accused") {
  const auto device = open_device("emulator:h100", {}, FA_TUNE_ROOT);
  const auto folder = std::filesystem::path(FA_TUNE_ROOT) / "tests" / "conformance" / "faults";
  const auto kernels = KernelFile::load_all(folder);
  CHECK(kernels.size() >= 30);
  for (const KernelFile& kernel : kernels) {
    CAPTURE(kernel.name);
    const auto planted = kernel.run(*device, cached_nvrtc(), true, Checks::all(), 0);
    const std::string found = planted ? "nothing" : planted.error();
    CAPTURE(found);
    CHECK(found.starts_with(kernel.fault + ": " + kernel.name + ", PTX line "));
    for (const std::uint64_t schedule : {0, 1, 2, 3}) {
      const auto twin = kernel.run(*device, cached_nvrtc(), false, Checks::all(), schedule);
      const std::string accusation = twin ? "" : twin.error();
      CHECK(accusation == "");
    }
  }
}

}  // namespace fa_tune::test
