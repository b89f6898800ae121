// What a space file may get wrong once it is joined with profiles, problems and templates.

#include <algorithm>

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "tests/engine/tuner/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::kernel;
using namespace fa_tune::space;
using namespace fa_tune::tuner;

namespace {

std::string complaint(const test::Replacements& change) {
  try {
    test::task("l4.yaml", change);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("got: ", text);
  return found && text.find('\n') == std::string::npos;
}

}  // namespace

TEST_CASE("the shipped space is good and its presets are in it") {
  const TuningTask task = test::task("l4.yaml");
  CHECK(task.space.count() > 1000);
  for (const char* name : {"plain", "fa2"}) {
    const Preset* preset = task.space.preset(name);
    REQUIRE(preset != nullptr);
    CHECK(task.space.index_of(preset->config).has_value());
  }
  const Config fa2 = task.space.preset("fa2")->config;
  const LaunchConfig launch =
      task.template_of(fa2).require_plan(fa2, task.scope(task.problem->shape())).config;
  CHECK(launch.grid == Dim3{4, 8, 1});
  CHECK(launch.block == Dim3{128, 1, 1});
  CHECK(launch.dynamic_shared_bytes == 3 * 128 * 128);
}

TEST_CASE("a preset may be for some problems alone") {
  CHECK(test::task("l4.yaml").space.preset("fa2_d128") == nullptr);
  const TuningTask wide = test::task("l4.yaml", {{"D: 64}", "D: 128}"}});
  CHECK(wide.space.preset("fa2") == nullptr);
  CHECK(wide.space.preset("fa2_d128") != nullptr);
  CHECK(wide.space.preset("fa2_d128_causal") == nullptr);
  const TuningTask causal =
      test::task("l4.yaml", {{"D: 64}", "D: 128}"}, {"causal: false", "causal: true"}});
  CHECK(causal.space.preset("fa2_d128") == nullptr);
  CHECK(causal.space.preset("fa2_d128_causal") != nullptr);
  // It may not rest on what a config decides.
  CHECK(says(complaint({{"when: problem.D <= 64}", "when: BLOCK_M <= 64}"}}), "BLOCK_M"));
  CHECK(says(complaint({{"when: problem.D <= 64}", "when: 64}"}}), "l4.yaml:"));
}

TEST_CASE("every shipped space is good at the head dimensions that it names presets for") {
  for (const char* name : {"l4.yaml", "a100.yaml", "h100_mma.yaml"})
    for (const int head_dim : {64, 128, 256}) {
      SpaceFile file = load_space_file(name, test::root());
      for (auto& [setting, value] : file.problem_settings)
        if (setting == "shape.D") value = std::int64_t{head_dim};
      CAPTURE(name);
      CAPTURE(head_dim);
      const TuningTask task = open_task(std::move(file), test::root());
      CHECK(task.space.parts().presets.size() >= 1);
    }
}

TEST_CASE("every shipped space is good") {
  for (const auto& file : std::filesystem::directory_iterator(test::root() / "search_spaces")) {
    if (file.path().extension() != ".yaml") continue;
    CAPTURE(file.path().string());
    CHECK(test::task(file.path().filename().string()).space.count() > 0);
  }
}

TEST_CASE("what does not fit together is named with its place") {
  CHECK(says(complaint({{"parameters:", "paramters:"}}), "did you mean 'parameters'"));
  CHECK(says(complaint({{"WARPS_M * WARPS_N <= 8", "WARPS_X * WARPS_N <= 8"}}), "WARPS_X"));
  CHECK(says(complaint({{"WARPS_M * WARPS_N <= 8", "BLOCK_M < 0"}}), "no config is valid"));
  CHECK(says(complaint({{"attention/mma.yaml", "attention/mmma.yaml"}}), "attention/mmma.yaml"));
  CHECK(says(complaint({{"target: l4", "target: l5"}}), "l4"));
  CHECK(says(complaint({{"kind: attention", "kind: atention"}}), "attention"));
  CHECK(says(
      complaint({{"  EPILOGUE: {values: [direct, staged], when: \"template == 'mma'\"}\n", ""}}),
      "needs the parameter 'EPILOGUE'"));
  CHECK(says(
      complaint({{"BLOCK_M: 4, BLOCK_N: 32, WARPS: 4}", "BLOCK_M: 5, BLOCK_N: 32, WARPS: 4}"}}),
      "plain"));
  const std::string other = complaint(
      {{"  mma: attention/mma.yaml", "  mma: attention/mma.yaml\n  wgmma: attention/wgmma.yaml"}});
  CHECK(says(other, "template 'wgmma' is for sm_90a, but the target 'l4' is sm_89"));
  // Each carries file, line and column.
  CHECK(says(complaint({{"attention/mma.yaml", "attention/mmma.yaml"}}), "l4.yaml:1"));
}

TEST_CASE("every shipped manifest says of each of its genes what it moves") {
  std::size_t templates = 0;
  for (const auto& folder :
       std::filesystem::directory_iterator(test::root() / "kernel_templates")) {
    if (!folder.is_directory()) continue;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      if (file.path().extension() != ".yaml") continue;
      CAPTURE(file.path().string());
      const Template shipped = Template::load("t", file.path());
      std::vector<std::string> genes = shipped.parameters();
      for (const auto& [gene, value] : shipped.optional()) genes.push_back(gene);
      for (const std::string& gene : genes) {
        CAPTURE(gene);
        const auto said = std::ranges::find(shipped.moves(), gene, &GeneMoves::gene);
        REQUIRE(said != shipped.moves().end());
        CHECK(!said->limits.empty());
      }
      ++templates;
    }
  }
  CHECK(templates >= 16);
}

}  // namespace fa_tune::test
