// Which variants are one kernel, and that all others are gated.

#include "engine/tuner/task/kernel_identity.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <SQLiteCpp/Database.h>
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "db/check.hpp"
#include "engine/device/local/open.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/tuner/evolve.hpp"
#include "tests/engine/problem/custom/custom_space.hpp"
#include "tests/engine/tuner/listeners.hpp"
#include "tests/engine/tuner/toy.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::device;
using namespace fa_tune::kernel;
using namespace fa_tune::tuner;

namespace {

// A space whose parameters are in the launch alone: the kernel asks CUDA how it was launched.
const test::Replacements kLaunchAlone = {
    {"kernel: scale_add<PER, float>", "kernel: strided"},
    {"grid: [\"ceil_div(problem.n, BLOCK * PER)\"]", "grid: [BLOCKS]"},
    {"PER: [1, 2]", "BLOCKS: [1, 2, 7, 40]"},
    {"BLOCK: [64, 128]", "BLOCK: [32, 64, 96, 128, 512]"}};

constexpr const char* kStrided = R"(
extern "C" __global__ void strided(const float* x, float* y, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = a * x[i] + y[i];
}
)";

struct Searched {
  EvolveResult result;
  std::vector<TrialRow> trials;
  std::vector<std::string> defects;  // by fa-tune db check
};

Searched exhaustive(const TuningTask& task, Compiler& compiler, int trials) {
  const auto device = open_device("emulator:l4", task.target, test::root());
  const test::ScratchFolder folder;
  Searched searched;
  {
    Store store(folder / "fa.db", Store::Mode::write);
    EvolveOptions options;
    options.strategy = "exhaustive";
    options.trials = trials;
    options.finals = false;
    test::QuietListener quiet;
    const std::atomic<bool> stop{false};
    searched.result = evolve(task, *device, compiler, store, options, quiet, stop);
    searched.trials = store.trials(searched.result.run);
  }
  searched.defects = check_database(folder / "fa.db").defects;
  return searched;
}

}  // namespace

TEST_CASE("identity: all that a launch is given tells kernels apart, and nothing else does") {
  const PlannedLaunch plain{.config = {.grid = {4, 1, 1}, .block = {64, 1, 1}, .cluster = {}},
                            .arguments = {"x", "y"},
                            .maps = {{.argument = "x", .tensor = "X", .box = {64, 2}}}};
  std::vector<PlannedLaunch> all(10, plain);
  all[1].config.grid.y = 2;
  all[2].config.block.x = 128;
  all[3].config.cluster.x = 2;
  all[4].config.dynamic_shared_bytes = 16;
  all[5].arguments = {"y", "x"};
  all[6].maps[0].box = {2, 64};
  all[7].maps[0].swizzle_bytes = 128;
  all[8].maps[0].axes = {{.letter = 'H', .modulo = 4}};
  all[9].maps.clear();
  std::set<std::string> hashes;
  const auto hash = [](const std::string& code, const PlannedLaunch& planned) {
    KernelIdentity identity;
    identity.add_shape(code, planned);
    return identity.hash();
  };
  for (const PlannedLaunch& each : all) hashes.insert(hash("c", each));
  hashes.insert(hash("d", plain));
  CHECK(hashes.size() == all.size() + 1);
  CHECK(hash("c", plain) == hash("c", PlannedLaunch(plain)));

  // So does each step of several, their order, what workspaces they have and what numbers they take.
  PlannedLaunch steps;
  steps.steps = {PlannedFill{"y", 0}, PlannedKernel{0, plain.config, {"x"}, {}},
                 PlannedKernel{1, plain.config, {"x"}, {}}, PlannedCopy{"x", "y"}};
  steps.workspaces = {{"x", DType::f32, {4, 2}}};
  steps.scalars = {{"n", DType::i32, {std::byte{4}, {}, {}, {}}}};
  std::vector<PlannedLaunch> others(11, steps);
  std::swap(others[1].steps[1], others[1].steps[2]);
  others[2].steps.pop_back();
  others[3].steps[0] = PlannedFill{"y", 1};
  others[4].steps[3] = PlannedCopy{"y", "x"};
  std::get<PlannedKernel>(others[5].steps[2]).entry = 0;
  std::get<PlannedKernel>(others[6].steps[1]).arguments = {"y"};
  others[7].workspaces[0].dims = {2, 4};
  others[8].workspaces[0].type = DType::f16;
  others[9].scalars[0].bytes[0] = std::byte{5};
  others[10].scalars[0].type = DType::f32;
  hashes.clear();
  for (const PlannedLaunch& each : others) hashes.insert(hash("c", each));
  CHECK(hashes.size() == others.size());

  // A launch at a second shape tells them apart where the first does not.
  KernelIdentity two;
  two.add_shape("c", plain);
  two.add_shape("c", all[1]);
  KernelIdentity same;
  same.add_shape("c", plain);
  same.add_shape("c", plain);
  CHECK(two.hash() != same.hash());
}

TEST_CASE("identity: configs that differ in block or grid alone are all timed") {
  const test::CustomSpace place;
  test::write_text(place.folder() / "mine.cu", kStrided);
  const TuningTask task = place.task(kLaunchAlone);
  const auto compiler = open_nvrtc();
  const Searched searched = exhaustive(task, *compiler, 20);
  CHECK(searched.result.counts.passed == 20);
  CHECK(searched.result.counts.duplicate == 0);
  std::set<std::string> codes, identities;
  for (const TrialRow& trial : searched.trials) {
    codes.insert(trial.code_hash);
    identities.insert(trial.identity);
  }
  CHECK(codes.size() == 1);
  CHECK(identities.size() == 20);
  // One block of 32 threads cannot be as fast as 40 of 128.
  const auto [best, worst] = std::ranges::minmax(searched.trials, {}, [](const TrialRow& trial) {
    return trial.screen_time.value().us.value;
  });
  CHECK(worst.screen_time->us.value > 4 * best.screen_time->us.value);
  CHECK(searched.defects.empty());
}

TEST_CASE("identity: a gene that reaches nothing makes duplicates, which the database knows") {
  const TuningTask task = test::toy_project();
  const auto compiler = test::toy_compiler();
  const Searched searched = exhaustive(task, *compiler, 400);
  std::map<std::string, int> kernels;  // by BLOCK, WORK and FACTOR: NAME leaves no trace
  for (const TrialRow& trial : searched.trials) {
    if (trial.outcome == Outcome::failed && trial.finding == "compile_error") continue;
    Config config = Config::from_json(trial.config_json);
    config.set("NAME", std::string("any"));
    int& seen = kernels[config.to_json()];
    CHECK((trial.outcome == Outcome::duplicate) == (seen > 0));
    ++seen;
  }
  CHECK(kernels.size() > 30);
  CHECK(searched.result.counts.duplicate > 30);
  CHECK(searched.defects.empty());
}

TEST_CASE("identity: a run from before identities were kept goes on") {
  const TuningTask task = test::toy_project();
  const auto compiler = test::toy_compiler();
  const auto device = open_device("emulator:l4", task.target, test::root());
  const test::ScratchFolder folder;
  EvolveOptions options;
  options.strategy = "exhaustive";
  options.trials = 60;
  options.finals = false;
  test::QuietListener quiet;
  const std::atomic<bool> stop{false};
  const auto search = [&] {
    Store store(folder / "fa.db", Store::Mode::write);
    return evolve(task, *device, *compiler, store, options, quiet, stop);
  };
  const std::int64_t run = search().run;
  {
    SQLite::Database db((folder / "fa.db").string(), SQLite::OPEN_READWRITE);
    CHECK(db.exec("UPDATE trials SET identity = NULL WHERE identity IS NOT NULL") > 20);
  }
  options.resume = run;
  options.trials = 120;
  const EvolveResult result = search();
  CHECK(result.counts.trials == 120);
  CHECK(result.counts.duplicate > 5);
  CHECK(check_database(folder / "fa.db").defects.empty());
}

TEST_CASE("identity: what cannot be launched fails, and the search goes on") {
  const test::CustomSpace place;
  test::write_text(place.folder() / "mine.cu", kStrided);
  test::Replacements changes = kLaunchAlone;
  changes.back() = {"BLOCK: [64, 128]", "BLOCK: [64, 2048]"};
  changes[2] = {"PER: [1, 2]", "BLOCKS: [1, 3000000000]"};
  const TuningTask task = place.task(changes);
  const auto compiler = open_nvrtc();
  const Searched searched = exhaustive(task, *compiler, 4);
  CHECK(searched.result.counts.passed == 1);
  CHECK(searched.result.counts.failed == 3);
  for (const TrialRow& trial : searched.trials) {
    if (trial.outcome == Outcome::passed) continue;
    CHECK(trial.stage == "resources");
    CHECK(trial.finding == "launch_limits");
    const bool said = test::has(trial.message, "block.x is BLOCK = 2048, expected 1 to 1024") ||
                      test::has(trial.message, "grid.x is BLOCKS = 3000000000, expected 1 to");
    CHECK_MESSAGE(said, trial.message);
  }
}

TEST_CASE("identity: templates that share a source and differ in options are two kernels") {
  const test::CustomSpace place;
  test::write_text(place.folder() / "mine.cu",
                   test::replace(test::kCustomMine,
                                 {{"step(x[i], y[i], a)", "step(x[i], y[i], a) + 0 * expf(a)"}}));
  const TuningTask task =
      place.task({{"parameters:\n",
                   "  fast:\n    source: mine.cu\n    kernel: scale_add<PER, float>\n"
                   "    options: [--use_fast_math]\n"
                   "    launch: {grid: [\"ceil_div(problem.n, BLOCK * PER)\"], block: [BLOCK]}\n"
                   "parameters:\n"}});
  const auto compiler = open_nvrtc();
  const Searched searched = exhaustive(task, *compiler, 8);
  CHECK(searched.trials.size() == 8);
  CHECK(std::ranges::count(searched.trials, "duplicate_source", &TrialRow::stage) == 0);
}

TEST_CASE("identity: every parameter of a shipped template reaches its kernel") {
  int parameters = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::root() / "search_spaces")) {
    if (entry.path().extension() != ".yaml") continue;
    const TuningTask task = test::task(entry.path().filename().string());
    for (const Template& each : task.templates) {
      for (const std::string& name : each.parameters()) {
        CHECK_MESSAGE(each.uses(name), fmt::format("{}: {} of {}", entry.path().filename().string(),
                                                   name, each.name()));
        ++parameters;
      }
      for (const auto& [name, value] : each.optional()) CHECK(each.uses(name));
    }
  }
  CHECK(parameters > 50);
  // The check can fail.
  const TuningTask toy = test::toy_project();
  CHECK(toy.templates[0].uses("BLOCK"));
  CHECK_FALSE(toy.templates[0].uses("NAME"));
}

TEST_CASE("identity: a parameter that reaches no kernel is told") {
  const test::CustomSpace place;
  const TuningTask idle = place.task({{"PER: [1, 2]", "PER: [1, 2]\n  IDLE: [1, 2, 3]"}});
  REQUIRE(idle.idle_parameters().size() == 1);
  CHECK(
      test::has(idle.idle_parameters()[0], "parameter IDLE reaches no kernel of template 'mine'"));
  CHECK(place.task().idle_parameters().empty());
}

TEST_CASE("identity: a name in a launch that has no value is the space's mistake") {
  const test::CustomSpace place;
  const std::string said =
      place.refused({{"\"ceil_div(problem.n, BLOCK * PER)\"", "\"ceil_div(problem.n, BLCK)\""}});
  CHECK_MESSAGE(test::has(said, "'BLCK' has no value here"), said);
  CHECK_MESSAGE(test::has(said, "did you mean 'BLOCK'"), said);
  CHECK_MESSAGE(test::has(said, "mine.yaml:"), said);
}

}  // namespace fa_tune::test
