#include "engine/space_file/space_file.hpp"

#include <algorithm>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "engine/util/file.hpp"
#include "tests/engine/space/parts_writer.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::space;

namespace {

const std::string kGood = R"(space: l4
target: l4                      # a device profile
problem:
  kind: attention
  shape: {B: 1, H: 8, Lq: 512, Lk: 512, D: 64}
  causal: false
  dtype: fp16
templates:
  plain: attention/plain.yaml
  mma: attention/mma.yaml
parameters:
  BLOCK_M: [16, 32, 64, 128]
  STAGES: {values: [1, 2, 3], when: "template == 'mma'"}
  SWIZZLE: [true, false]
derived:
  ROWS: BLOCK_M / 4
constraints:
  - ROWS % 4 == 0
  - {expr: "BLOCK_M >= 32 or not SWIZZLE", because: "one tile is not swizzled"}
presets:
  fa2: {template: mma, BLOCK_M: 128, STAGES: 2, SWIZZLE: true}
budget: {trials: 120, minutes: 3}
)";

SpaceFile parse_space(const std::string& text) { return parse_space_file(text, "l4.yaml"); }

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kGood;
  text.replace(text.find(from), from.size(), to);
  return text;
}

std::string error_after(const std::string& from, const std::string& to) {
  return error_of([&] { parse_space(replaced(from, to)); });
}

Space space_of(const SpaceFile& file) {
  return Space::build({.name = file.name,
                       .parameters = file.parameters,
                       .derived = file.derived,
                       .constraints = file.constraints,
                       .presets = file.presets,
                       .known_best = file.known_best,
                       .constants = {}});
}

}  // namespace

TEST_CASE("space file: a problem's lists and real numbers become settings") {
  std::string text = kGood;
  text.replace(text.find("  causal: false"), 15, "  window: [64, -1]\n  softcap: 0.5");
  const SpaceFile file = parse_space(text);
  const auto has = [&](const std::string& name, const Value& value) {
    return std::ranges::count(file.problem_settings, std::pair(name, value)) == 1;
  };
  CHECK(has("window.0", std::int64_t{64}));
  CHECK(has("window.1", std::int64_t{-1}));
  CHECK(has("softcap", 0.5));
}

TEST_CASE("space file: what a good one says") {
  const SpaceFile file = parse_space(kGood);
  CHECK(file.name == "l4");
  CHECK(file.target == "l4");
  CHECK(file.target_mark.line == 2);
  CHECK(file.target_mark.column == 9);
  CHECK(file.problem_kind == "attention");
  CHECK(file.problem_mark.line == 4);
  REQUIRE(file.problem_settings.size() == 7);
  CHECK(file.problem_settings[2] == std::pair<std::string, Value>("shape.Lq", number(512)));
  CHECK(file.problem_settings[5] == std::pair<std::string, Value>("causal", false));
  CHECK(file.problem_settings[6] == std::pair<std::string, Value>("dtype", word("fp16")));
  REQUIRE(file.templates.size() == 2);
  CHECK(file.templates[1].second == "attention/mma.yaml");
  CHECK(file.template_marks.at("mma").line == 10);
  REQUIRE(file.parameters.size() == 4);
  CHECK(file.parameters[0].name == "template");
  CHECK(file.parameters[0].values == std::vector<Value>{word("plain"), word("mma")});
  CHECK(file.parameters[2].when->mark().column == 38);
  CHECK(file.constraints[1].because == "one tile is not swizzled");
  CHECK(file.constraints[0].expression.mark().column == 5);
  CHECK(file.presets[0].name == "fa2");
  CHECK(file.budget_trials == 120);
  CHECK(file.budget_seconds == 180.0);
  CHECK(file.text == kGood);
  // plain: 3 sizes x 2 and 16 without swizzle; mma the same with three stages
  CHECK(space_of(file).count() == 7 + 21);
  CHECK(parse_space(replaced("minutes: 3", "seconds: 1.5")).budget_seconds == 1.5);
  CHECK_FALSE(
      parse_space(replaced("budget: {trials: 120, minutes: 3}", "")).budget_trials.has_value());
  CHECK(parse_space(replaced("[16, 32", "[0.5, 32")).parameters[1].values[0] == Value(0.5));
}

TEST_CASE("space file: known bests are configs of the space, and no presets") {
  const auto with = [](const std::string& lines) {
    return parse_space(replaced("budget:", "known_best:\n" + lines + "budget:"));
  };
  const Space space =
      space_of(with("  found: {template: mma, BLOCK_M: 64, STAGES: 3, SWIZZLE: true}\n"));
  REQUIRE(space.known_best().size() == 1);
  CHECK(space.known_best().front().config.to_json() ==
        R"({"template":"mma","BLOCK_M":64,"STAGES":3,"SWIZZLE":true})");
  CHECK(space.presets().size() == 1);
  CHECK(space.preset("found") == space.known_best().data());
  CHECK(space.hash() == space_of(parse_space(kGood)).hash());
  const auto refusal = [&](const std::string& lines) {
    return error_of([&] { space_of(with(lines)); });
  };
  CHECK(refusal("  found: {template: mma, BLOCK_M: 16, STAGES: 3, SWIZZLE: true}\n")
            .find("known best 'found' is not valid") != std::string::npos);
  CHECK(refusal("  fa2: {template: mma, BLOCK_M: 64, STAGES: 3, SWIZZLE: true}\n")
            .find("known best 'fa2' is defined twice") != std::string::npos);
}

TEST_CASE("space file: a constraint may be Python's, as in T1 files") {
  const SpaceFile file =
      parse_space(replaced("  - {expr:", "  - {python: \"BLOCK_M // 3 == 5\"}\n  - {expr:"));
  const Value fits = number(17), not_fits = number(18);
  const auto holds = [&](const Value& value) {
    return file.constraints[1].expression.evaluate_bool([&](const std::string&) { return &value; });
  };
  CHECK(holds(fits));
  CHECK_FALSE(holds(not_fits));
  CHECK(error_of([] {
          parse_space(replaced("  - {expr:", "  - {python: \"1\", expr:"));
        }).find("either `expr` or `python`") != std::string::npos);
}

TEST_CASE("space file: every slip is answered with its place") {
  CHECK(error_after("parameters:", "paramters:") ==
        "l4.yaml:11:1: unknown key 'paramters', did you mean 'parameters'?");
  CHECK(error_after("values:", "vals:") ==
        "l4.yaml:13:12: unknown key 'vals', did you mean 'values'?");
  CHECK(error_after("because:", "why:") ==
        "l4.yaml:19:44: unknown key 'why'; expected one of expr, python, because");
  CHECK(error_after("trials:", "trails:") ==
        "l4.yaml:22:10: unknown key 'trails', did you mean 'trials'?");
  CHECK(error_after("target: l4 ", "targets: [l4]") ==
        "l4.yaml:2:1: unknown key 'targets', did you mean 'target'?");
  CHECK(error_after("space: l4\n", "") == "l4.yaml:1:1: key 'space' is missing here");
  CHECK(error_after("  kind: attention\n", "") == "l4.yaml:4:3: key 'kind' is missing here");
  CHECK(error_after("[16, 32, 64, 128]", "16") ==
        "l4.yaml:12:12: BLOCK_M: expected a list, found '16'");
  CHECK(error_after("[16, 32", "[16, yes") ==
        "l4.yaml:12:17: BLOCK_M: expected true or false (put a word that is meant as a name in "
        "quotes), found 'yes'");
  CHECK(error_after("[16, 32", "[16, 1-5") ==
        "l4.yaml:12:17: BLOCK_M: expected an integer, true, false or a name (letters, digits and "
        "_; ns::name too), found '1-5'");
  CHECK(error_after("BLOCK_M: [", "template: [") ==
        "l4.yaml:12:3: parameter 'template' is made from `templates`, choose another name");
  CHECK(error_after("STAGES: {", "BLOCK_M: {") ==
        "l4.yaml:13:3: key 'BLOCK_M' stands here for the second time");
  CHECK(error_after("template == 'mma'", "template = 'mma'") ==
        "l4.yaml:13:47: unexpected '=', write '==' in 'template = 'mma''");
  CHECK(error_after("ROWS % 4 == 0", "ROWS % == 0") ==
        "l4.yaml:18:12: expected a value, found '==' in 'ROWS % == 0'");
  CHECK(error_after("trials: 120", "trials: 0") ==
        "l4.yaml:22:18: trials: expected an integer from 1 to 1000000000, found '0'");
  CHECK(error_after("minutes: 3", "minutes: -1") ==
        "l4.yaml:22:32: minutes: expected a number above 0, found '-1'");
  CHECK(error_after("D: 64}", "D: [64]}") ==
        "l4.yaml:5:44: shape.D: expected an integer, true, false or a name (letters, digits and _; "
        "ns::name too), found a list");
  CHECK(error_after("  plain: attention/plain.yaml\n  mma: attention/mma.yaml\n", "") ==
        "l4.yaml:8:1: key 'templates' has no value");
  CHECK(error_after("space: l4\n", "space: ../l4\n").find("expected a name") != std::string::npos);
  CHECK(error_of([] { parse_space(""); }) ==
        "l4.yaml: a space file: expected a map (key: value), found nothing");
  CHECK(error_of([] { space_of(parse_space(replaced("ROWS % 4", "ROW % 4"))); }) ==
        "l4.yaml:18:5: unknown name 'ROW' in 'ROW % 4 == 0', did you mean 'ROWS'?");
  CHECK(error_of([] { space_of(parse_space(replaced("STAGES: 2", "STAGES: 4"))); }) ==
        "l4.yaml:21:3: preset 'fa2' is not valid: STAGES = '4' is not one of: 1, 2, 3");
}

TEST_CASE("space file: found as given, with .yaml, or among the shipped") {
  const test::ScratchFolder folder;
  const std::filesystem::path& root = folder.path();
  std::filesystem::create_directories(root / "search_spaces" / "devices");
  write_file(root / "search_spaces" / "l4.yaml", kGood);
  write_file(root / "search_spaces" / "h100.yaml", replaced("space: l4", "space: h100"));
  write_file(root / "mine.yaml", replaced("space: l4", "space: mine"));
  CHECK(load_space_file("l4", root).name == "l4");
  CHECK(load_space_file("h100.yaml", root).name == "h100");
  CHECK(load_space_file((root / "mine.yaml").string(), root).name == "mine");
  CHECK(load_space_file((root / "mine").string(), root).path == root / "mine.yaml");
  CHECK(
      error_of([&] { load_space_file("h10", root); }) ==
      "space 'h10': no such file, and none of the shipped spaces (h100, l4), did you mean 'h100'?");
  CHECK(error_of([&] { load_space_file("/tmp", root); }) ==
        "space '/tmp': is a folder, expected a space file");
  CHECK(error_of([&] { load_space_file("", root); }).find("no such file") != std::string::npos);
  CHECK(error_of([&] { load_space_file("x", root / "mine.yaml"); }).find("none in") !=
        std::string::npos);
}

TEST_CASE("space file: one flow, as JSON is, carries its files as blocks do") {
  const ScratchFolder folder;
  const std::string source = "// it's } or \"]\\\" #\n\nint a;\n";
  write_file(folder / "a.cu", source);
  const std::string arguments =
      R"([{"name": "x", "type": "f32", "shape": [4], "fill": {"file": "x.npy"}}])";
  write_file(folder / "x.npy", "four");
  const auto with = [&](const std::string& before, const std::string& after) {
    write_file(folder / "a.json",
               before + R"({"space": "a", "target": "l4", "problem": {"kind": "custom",
  "says": ["} # ] '", '}''} ] "'], "arguments": )" +
                   arguments + R"(, "reference": {"source": "a.cu", "kernel": "k", "launch": {}}},
 "templates": {"t": {"source": "a.cu", "kernel": "k", "launch": {}}},
 "parameters": {"P": [1, 2]})" +
                   after);
    const SpaceFile file = load_space_file((folder / "a.json").string(), folder / "");
    // What a run keeps is read without the files.
    const YamlNode kept = YamlNode::parse(file.text, "kept");
    CHECK(kept.at("files").at("a.cu").text("a.cu") == source);
    CHECK(kept.at("arrays").at("x.npy").at("sha256").text("hash").size() == 64);
    CHECK(parse_space_file(file.text, "kept").parameters.back().values.size() == 2);
    CHECK(file.parameters.back().mark.line == 4 + std::ranges::count(before, '\n'));
  };
  with("", "}");
  with("# {of blocks}\n", ", }  # as } here\n# {and here}\n");
  with("--- # {\n", ",\n}\n...\n");
}

TEST_CASE("space file: cut at every byte it is read or refused, never worse") {
  int refused = 0;
  for (std::size_t size = 0; size < kGood.size(); ++size) {
    const std::string error = error_of([&] { space_of(parse_space(kGood.substr(0, size))); });
    CHECK(error.find('\n') == std::string::npos);
    if (error != "no error") ++refused;
  }
  CHECK(refused > 200);
}

TEST_CASE("space file: thousands of mutations of a good one, always the same") {
  const std::vector<std::string> pieces = {
      "{",  "}",   "[",  "]",  ":",   ": ",    "- ", "'",    "\"",     "\n",    "  ",    "&a ",
      "*a", "!!x", "? ", "| ", "> ",  "#",     "%",  "---",  "<<: *a", "\xff",  "\xc3(", "0",
      "-1", "yes", "~",  "\t", "(((", "1 / 0", ",",  "true", "when",   "values"};
  Random random(77);
  int accepted = 0;
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = kGood;
    for (std::uint64_t edits = 1 + random.below(3); edits > 0; --edits) {
      const std::uint64_t at = random.below(text.size());
      switch (random.below(5)) {
        case 0:
          text[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          text.erase(at, 1 + random.below(12));
          break;
        case 2:
          text.insert(at, pieces[random.below(pieces.size())]);
          break;
        case 3:
          text.insert(at, text.substr(random.below(text.size()), 1 + random.below(40)));
          break;
        default:
          text[at] = static_cast<char>('0' + random.below(10));
      }
    }
    const std::string error = error_of([&] { (void)space_of(parse_space(text)).count(); });
    CHECK(error.find('\n') == std::string::npos);
    ++(error == "no error" ? accepted : refused);
  }
  CHECK(accepted > 50);
  CHECK(refused > 1000);
}

TEST_CASE("space file: nesting, aliases and noise without end") {
  const std::string head = "space: l4\ntarget: l4\nproblem: {kind: attention, shape: ";
  for (const std::string& noise :
       {std::string(3000, '['), std::string(3000, '{'), std::string(3000, '('),
        std::string(500'000, ' '), std::string(100'000, '-'), std::string(100'000, '&')})
    CHECK(error_of([&] { parse_space(head + noise); }) != "no error");
  Random random(8);
  for (int i = 0; i < 2000; ++i) {
    std::string noise(random.below(120), ' ');
    for (char& c : noise) c = static_cast<char>(random.below(256));
    CHECK(error_of([&] { parse_space(noise); }) != "no error");
  }
}

}  // namespace fa_tune::test
