// A profile from end to end: gate, clock, export, the process that is profiled. Nsight Compute is a
// script that starts it and prints a table; the GPU is an emulator that says it measures.

#include "engine/tuner/profiling/profiling.hpp"

#include <doctest/doctest.h>

#include "engine/device/local/open.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/report/export.hpp"
#include "engine/tuner/profiling/predicted_profile.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tests/engine/tuner/fixture.hpp"
#include "tests/engine/tuner/measuring_emulator.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::kernel;
using namespace fa_tune::report;
using namespace fa_tune::tuner;
namespace fs = std::filesystem;

namespace {

const TuningTask& profiled_task() {
  static const TuningTask task =
      test::task("l4.yaml", {{"H: 8, Lq: 512, Lk: 512, D: 64", "H: 2, Lq: 64, Lk: 64, D: 64"}});
  return task;
}

// Whose manifest lists steps: one without splits, else two.
const TuningTask& decode_task() {
  static const TuningTask task = test::task(
      "decode.yaml",
      {{"target: h100", "target: l4"},
       {"H: 32, Hkv: 8, Lq: 1, Lk: 8192, D: 128", "H: 2, Hkv: 1, Lq: 1, Lk: 64, D: 64"}});
  return task;
}

// A preset as an exported file; `fault` is put in the place of a part of its text.
std::string exported(const TuningTask& task, const std::string& preset,
                     const std::pair<std::string, std::string>& fault = {}) {
  const Config config = task.space.preset(preset)->config;
  const Template& from = task.template_of(config);
  const Constants& shape = task.problem->shape();
  const Source source = from.render(config, task.problem->defines(shape));
  const auto planned = from.require_plan(config, task.scope(shape));
  ExportFacts facts;
  facts.arch = "sm_89";
  facts.target = "l4";
  facts.template_name = from.name();
  facts.manifest_text = from.manifest_text();
  facts.kernel = source.kernel;
  facts.config = config;
  facts.problem = "attention";
  facts.settings = task.file.problem_settings;
  facts.shape = shape;
  facts.launch = planned.config;
  for (const PlannedStep& step : planned.steps) facts.steps.push_back({step});
  facts.workspaces = planned.workspaces;
  facts.body = fault.first.empty() ? source.text : test::replace(source.text, {fault});
  return export_text(facts);
}
std::string exported(const std::pair<std::string, std::string>& fault = {}) {
  return exported(profiled_task(), "fa2", fault);
}

const std::string kFakeNcu =
    "#!/bin/sh\n"
    "if [ \"$1\" = --version ]; then echo 'Version 2025.3.1.0 (build 1)'; exit 0; fi\n"
    "while [ \"$1\" != base ]; do shift; done\n"
    "shift\n"
    "\"$@\" || { echo \"==ERROR== The application returned an error code ($?).\"; exit 1; }\n"
    "echo '\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\","
    "\"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active\"'\n"
    "echo '\"\",\"\",\"ns\",\"%\"'\n"
    "echo '\"0\",\"f\",\"52,000\",\"77.5\"'\n";

std::string fake_ncu(const test::ScratchFolder& folder) {
  const fs::path file = folder / "ncu";
  write_file(file, kFakeNcu);
  fs::permissions(file, fs::perms::owner_all);
  return file.string();
}

std::expected<Profile, std::string> profiled(const std::string& text, bool measures,
                                             const std::vector<std::string>& program) {
  const test::ScratchFolder folder;
  auto tested = kernel_of_export("x.cu", text, test::root());
  auto device = open_device("emulator:l4", {}, test::root());
  if (measures)
    device = std::make_unique<test::MeasuringEmulator>(std::move(device),
                                                       [](const KernelImage&) { return 50.0; });
  ProfilingOptions options;
  options.root = test::root();
  options.text = text;
  options.measured.ncu = fake_ncu(folder);
  options.measured.program = program;
  options.measured.deadline = std::chrono::seconds(60);
  options.model = load_profile("l4", test::root());
  return profile_kernel(std::move(tested), std::move(device), open_nvrtc(), options);
}

const std::vector<std::string> kProgram = {FA_TUNE_PROGRAM, "profiled"};

}  // namespace

TEST_CASE("what the process under the profiler launches is the kernel that was gated") {
  const auto profile = profiled(exported(), true, kProgram);
  REQUIRE_MESSAGE(profile, profile.error());
  CHECK(profile->source == "ncu");
  CHECK(profile->time_kind == "measured");
  CHECK(profile->time_us == doctest::Approx(52));
  CHECK(*profile->clock_us == doctest::Approx(50).epsilon(0.02));
  CHECK(profile->limit == Bottleneck::tensor);
  CHECK(*profile->registers > 32);  // of the compiler, since the table has none
}

TEST_CASE("a list of steps is profiled where it comes to one") {
  const auto whole = profiled(exported(decode_task(), "whole"), true, kProgram);
  REQUIRE_MESSAGE(whole, whole.error());
  CHECK(whole->source == "ncu");
  const auto split = profiled(exported(decode_task(), "split"), true, kProgram);
  REQUIRE(!split);
  CHECK_MESSAGE(test::has(split.error(), "several steps"), split.error());
}

TEST_CASE("a process that fails under the profiler is heard") {
  const std::string message = test::message_of<MachineError>([] {
    profiled(exported(), true, {FA_TUNE_PROGRAM, "profiled", "--nonsense"}).value();
  });
  CHECK_MESSAGE(test::has(message, "nonsense"), message);
}

TEST_CASE("a kernel that is wrong is not profiled") {
  const auto profile =
      profiled(exported({"#define HEAD_DIM 64\n", "#define HEAD_DIM 32\n"}), true, kProgram);
  REQUIRE(!profile);
  CHECK_MESSAGE(test::has(profile.error(), "x.cu is not correct"), profile.error());
}

TEST_CASE("the emulator's model fills the same profile, and calls it predicted") {
  const auto profile = profiled(exported(), false, {});
  REQUIRE_MESSAGE(profile, profile.error());
  CHECK(profile->source == "emulator");
  CHECK(profile->version == "l4");
  CHECK(profile->time_kind == "predicted");
  CHECK(!profile->clock_us);
  // Two heads of one tile of rows: 2 of 58 SMs.
  CHECK(*profile->sms_active == doctest::Approx(100.0 * 2 / 58));
  CHECK(profile->limit == Bottleneck::parallelism);
  CHECK(profile->shares.size() == 9);
  CHECK(profile->stalls.size() == 9);
  for (const Stall& stall : profile->stalls) CHECK(!stall.meaning.empty());
  double all = 0;
  for (const Stall& stall : profile->stalls) all += stall.percent;
  CHECK(all == doctest::Approx(100));
  CHECK(*profile->registers > 32);
}

TEST_CASE("shares are of the time that the kernel runs, the launch's of all of it") {
  Timing timing;
  timing.kind = TimeKind::predicted;
  timing.samples_us = {10};
  timing.detail_json = R"({"launch_us":2,
    "occupancy":{"blocks_on_busiest_sm":2,"warps_per_sm":12,"limited_by":"grid"},
    "units_us":{"tensor":6,"l2":2,"control":1},
    "waits_of_a_warp_us":{"barriers":3,"async copies":1},
    "counters":{"blocks":58,"shared_wavefronts":100,"shared_wavefronts_ideal":75}})";
  const DeviceProfile l4 = load_profile("l4", test::root());
  const Profile profile = predicted_profile(timing, {}, l4);
  REQUIRE(profile.shares.size() == 2);
  CHECK(profile.shares[0].resource == Bottleneck::tensor);
  CHECK(profile.shares[0].percent == doctest::Approx(75));
  CHECK(profile.shares[1].percent == doctest::Approx(25));
  CHECK(profile.limit == Bottleneck::tensor);
  CHECK(*profile.launch == doctest::Approx(20));
  CHECK(*profile.sms_active == doctest::Approx(50));          // 58 of 2 x 58 places
  CHECK(*profile.occupancy_possible == doctest::Approx(25));  // 12 of 48 warps
  CHECK(*profile.bank_conflicts == doctest::Approx(25));
  CHECK(profile.stalls[0].reason == "barriers");
  CHECK(profile.stalls[0].percent == doctest::Approx(75));
}

TEST_CASE("what a model tells must be of its form") {
  Timing timing;
  timing.kind = TimeKind::predicted;
  timing.samples_us = {5};
  timing.detail_json = R"({"us":5})";
  CHECK_THROWS_AS(predicted_profile(timing, {}, load_profile("l4", test::root())), MachineError);
}

}  // namespace fa_tune::test
