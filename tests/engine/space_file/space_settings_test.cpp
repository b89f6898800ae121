#include "engine/space_file/space_settings.hpp"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "engine/util/error.hpp"

namespace fa_tune::test {

using namespace fa_tune::space;

namespace {

const std::string kSettingsFile = R"(# What it is for.
space: s
target: l4

problem:  # a remark
  kind: attention
  shape: {B: 1, H: 8,
          Lq: 512, Lk: 512, D: 64}
  causal: false
  softcap: 30.5

# On templates.
templates:
  mma: attention/mma.yaml
parameters:
  A: [1, 2]
constraints:
  - {expr: "A > 0", because: "problem: none"}
)";

SpaceFile changed(const std::vector<std::string>& changes) {
  return with_settings(parse_space_file(kSettingsFile, "s.yaml"), changes);
}

std::string setting(const SpaceFile& file, const std::string& path) {
  const auto found =
      std::ranges::find(file.problem_settings, path, &std::pair<std::string, Value>::first);
  return found == file.problem_settings.end() ? "none" : fa_tune::to_text(found->second);
}

std::string complaint(const std::string& change) {
  try {
    changed({change});
  } catch (const UserError& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("settings: replace and join what the file says, and leave the rest of it alone") {
  const SpaceFile file =
      changed({"shape.H=16", "causal=true", "layout=BSHD", "window.0=128", "window.1=-1"});
  CHECK(setting(file, "shape.H") == "16");
  CHECK(setting(file, "shape.B") == "1");
  CHECK(setting(file, "causal") == "true");
  CHECK(setting(file, "layout") == "BSHD");
  CHECK(setting(file, "softcap") == "30.5");
  CHECK(setting(file, "window.0") == "128");
  CHECK(setting(file, "window.1") == "-1");
  CHECK(file.problem_kind == "attention");
  CHECK(file.text.starts_with("# What it is for.\nspace: s\ntarget: l4\n\nproblem:\n"));
  CHECK(file.text.find("# On templates.\ntemplates:\n") != std::string::npos);
  CHECK(file.text.ends_with("because: \"problem: none\"}\n"));
  CHECK(file.text.find("Lq: 512, Lk: 512, D: 64") != std::string::npos);
  CHECK(file.parameters.size() == 2);
  CHECK(file.constraints.size() == 1);
  // What is kept with a run reads as the same.
  CHECK(parse_space_file(file.text, "stored").problem_settings == file.problem_settings);
  CHECK(with_settings(parse_space_file(kSettingsFile, "s.yaml"), {}).text == kSettingsFile);
}

TEST_CASE("settings: one length stands for both") {
  const SpaceFile both = changed({"shape.L=4096"});
  CHECK(setting(both, "shape.L") == "4096");
  CHECK(setting(both, "shape.Lq") == "none");
  CHECK(setting(both, "shape.Lk") == "none");
  const SpaceFile one = with_settings(both, {"shape.Lq=1"});
  CHECK(setting(one, "shape.L") == "none");
  CHECK(setting(one, "shape.Lq") == "1");
  CHECK(setting(one, "shape.Lk") == "4096");
}

TEST_CASE("settings: what is no change is answered with one that is") {
  for (const char* bad :
       {"shape.L", "=3", "shape.L=", "shape..L=3", "kind=x", "causal=true}", "a b=3", "shape.=3"})
    CHECK(complaint(bad).find("as in shape.L=4096") != std::string::npos);
  CHECK(complaint("causal=false") == "none");
}

TEST_CASE("settings: the section may be the file's last, and its first") {
  const std::string last = kSettingsFile.substr(kSettingsFile.find("templates:")) +
                           "space: s\ntarget: l4\nproblem:\n  kind: k\n  n: 4\n";
  CHECK(setting(with_settings(parse_space_file(last, "s"), {"n=5"}), "n") == "5");
  const std::string first = "problem: {kind: k, n: 4}\n" +
                            kSettingsFile.substr(kSettingsFile.find("templates:")) +
                            "space: s\ntarget: l4\n";
  CHECK(setting(with_settings(parse_space_file(first, "s"), {"n=5"}), "n") == "5");
}

}  // namespace fa_tune::test
