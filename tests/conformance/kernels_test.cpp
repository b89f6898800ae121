#include <map>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/device/local/open.hpp"
#include "engine/util/file.hpp"
#include "tests/cached_nvrtc.hpp"
#include "tests/helpers.hpp"
#include "tools/lone/outputs.hpp"

// The conformance kernels on the emulator, held against what a Hopper GPU answered
// (tools/bench/results/conformance, made by bench_conformance). One that no GPU has answered yet
// only has to run without an accusation.

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::kernel;
using namespace fa_tune::lone;

namespace {

const std::filesystem::path kRoot = FA_TUNE_ROOT;

std::map<std::string, nlohmann::ordered_json> recorded_outputs() {
  const auto file = kRoot / "tools" / "bench" / "results" / "conformance" / "hopper.json";
  std::map<std::string, nlohmann::ordered_json> found;
  const auto record = nlohmann::ordered_json::parse(read_file(file));
  for (const auto& row : record.at("rows"))
    if (!row.at("outputs").empty()) found[row.at("kernel").get<std::string>()] = row.at("outputs");
  return found;
}

// What a profile other than that of the recorded GPU computes like it: tensor cores differ.
bool same_everywhere(const KernelFile& kernel) {
  return kernel.kind.find("gemm") == std::string::npos;
}

void hold(const std::string& name, std::uint64_t schedule, int least) {
  const auto recorded = recorded_outputs();
  const auto device = open_device(name, {}, kRoot);
  int held = 0, others = 0;
  for (const KernelFile& kernel :
       KernelFile::load_all(kRoot / "tests" / "conformance" / "kernels")) {
    if (!kernel.runs_on(device->info().arch)) continue;
    // What the profiles have in common is compiled anew for each: in a usual run every second.
    if (name != "emulator:h100" && !thorough() && ++others % 2 == 0) continue;
    CAPTURE(kernel.name);
    // Correct kernels are not accused either.
    const auto outputs = kernel.run(*device, cached_nvrtc(), false, Checks::all(), schedule);
    const std::string problem = outputs ? "" : outputs.error();
    CHECK(problem == "");
    if (!outputs) continue;
    if (!recorded.contains(kernel.name)) continue;
    if (name != "emulator:h100" && !same_everywhere(kernel)) continue;
    ++held;
    CHECK(refute(kernel, *outputs, recorded.at(kernel.name)) == "");
  }
  CHECK(held >= least);
}

}  // namespace

TEST_CASE("the emulator answers as the GPU did") { hold("emulator:h100", 0, 80); }

TEST_CASE("and under another schedule") { hold("emulator:h100", 5, 80); }

TEST_CASE("other profiles differ from it in tensor cores alone") {
  hold("emulator:l4", 0, thorough() ? 40 : 20);
}

}  // namespace fa_tune::test
