#include "engine/tuner/self_test/fault_file.hpp"

#include <doctest/doctest.h>

#include "engine/util/file.hpp"
#include "tests/engine/tuner/fixture.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::kernel;
using namespace fa_tune::tuner;

namespace {

const char* const kFile = R"(problem: {shape: {Lq: 96}, causal: false}
base: {BLOCK: 32, MODE: fast}
faults:
  - name: one too few
    kind: mask
    change: [{from: "i < n", to: "i < n - 1"}]
    config: {BLOCK: 64}
    problem: {causal: true}
cheats:
  - name: never
    kind: kept
    builds: false
    change:
      - from: i < n
    append: int x;
)";

std::vector<PlantedFault> parse(const std::string& text) {
  return parse_fault_file(text, "f.yaml", "tiny");
}

std::string refusal(const std::string& text) {
  return test::message_of<UserError>([&] { parse(text); });
}

}  // namespace

TEST_CASE("fault file: base and problem are laid under each fault's own") {
  const auto faults = parse(kFile);
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].name == "one too few");
  CHECK_FALSE(faults[0].cheat);
  CHECK(faults[0].builds);
  CHECK(faults[0].config.to_json() == R"({"template":"tiny","BLOCK":64,"MODE":"fast"})");
  CHECK(faults[0].problem == std::vector<std::pair<std::string, Value>>{
                                 {"shape.Lq", std::int64_t{96}}, {"causal", true}});
  CHECK(faults[1].cheat);
  CHECK_FALSE(faults[1].builds);
  CHECK(faults[1].config.to_json() == R"({"template":"tiny","BLOCK":32,"MODE":"fast"})");
  CHECK(faults[1].changes == std::vector<std::pair<std::string, std::string>>{{"i < n", ""}});
  CHECK(faults[1].append == "int x;");
  CHECK(faults[1].mark.line == 10);
}

TEST_CASE("fault file: mistakes are told with their place") {
  CHECK(refusal("faults: []\n").find("base") != std::string::npos);
  CHECK(refusal("base: {}\nfault: []\n").find("f.yaml:2:1: ") == 0);
  CHECK(
      refusal("base: {}\nfaults:\n  - {name: a, kind: b c, change: []}\n").find("f.yaml:3:21: ") ==
      0);
  CHECK(refusal("base: {}\nfaults:\n  - {name: a, kind: b}\n").find("change") != std::string::npos);
  const auto of_manifest =
      parse("base: {}\nfaults:\n  - {name: a, kind: b, manifest: [{from: x, to: y}]}\n");
  CHECK(of_manifest.at(0).changes.empty());
  CHECK(of_manifest.at(0).manifest_changes ==
        std::vector<std::pair<std::string, std::string>>{{"x", "y"}});
}

TEST_CASE("fault file: a text that is not there exactly once is a mistake of the file") {
  const TuningTask task = test::task("l4.yaml");
  const Template& sound = task.templates.at(0);
  PlantedFault fault;
  fault.name = "moved";
  fault.mark = {"f.yaml", 7, 5};
  fault.changes = {{"no such text", ""}};
  CHECK_THROWS_WITH_AS(plant(sound, fault),
                       "f.yaml:7:5: 'moved': expected this text exactly once in the template: "
                       "'no such text'",
                       UserError);
  fault.changes = {{"__syncthreads();", ""}};
  CHECK_THROWS_AS(plant(sound, fault), UserError);
  fault.changes = {{"mask.apply(score[r], row, key);", ""}};
  fault.append = "// the end";
  fault.manifest_changes = {{"BLOCK_M", "BLOCK_N"}};
  CHECK_THROWS_WITH_AS(plant(sound, fault), doctest::Contains("exactly once in the manifest"),
                       UserError);
  fault.manifest_changes = {{"source: scalar.cu", "source: other.cu"}};
  CHECK(plant(sound, fault).manifest_text().find("source: other.cu") != std::string::npos);
  fault.manifest_changes = {};
  const Template faulty = plant(sound, fault);
  CHECK(faulty.cuda_text().find("mask.apply(score[r], row, key);") == std::string::npos);
  CHECK(faulty.cuda_text().ends_with("\n// the end"));
  CHECK(faulty.name() == sound.name());
}

TEST_CASE("fault file: the shipped ones are read and fit their templates") {
  for (const char* space : {"l4.yaml", "h100.yaml", "ladder.yaml"}) {
    const TuningTask task = test::task(space);
    for (const auto& [name, manifest] : task.file.templates) {
      const auto path = fault_file_of(test::root() / "kernel_templates" / manifest);
      CAPTURE(path.string());
      const auto faults = parse_fault_file(read_file(path), path, name);
      CHECK(faults.size() > 5);
      for (const PlantedFault& fault : faults)
        CHECK_NOTHROW(plant(task.template_of(fault.config), fault));
    }
  }
}

}  // namespace fa_tune::test
