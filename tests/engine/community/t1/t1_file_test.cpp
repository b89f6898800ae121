#include "engine/community/t1/t1_file.hpp"

#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>

#include "engine/space_file/space_file.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/log.hpp"

namespace fa_tune::test {

using namespace fa_tune::community;
using namespace fa_tune::space;

namespace {

std::string with(const std::string& parameters, const std::string& rest = "") {
  return R"({"ConfigurationSpace": {"TuningParameters": [)" + parameters + "]" + rest + "}}";
}

std::vector<Value> values_of(const std::string& fields) {
  return parse_t1(with(R"({"Name": "p", )" + fields + "}"), "f.json").parts.parameters.at(0).values;
}

std::string error_of(const std::string& text) {
  try {
    Space::build(parse_t1(text, "f.json").parts);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

using Integers = std::vector<Value>;

Integers integers(std::initializer_list<std::int64_t> numbers) {
  return {numbers.begin(), numbers.end()};
}

}  // namespace

TEST_CASE("T1: a whole file") {
  // The tabs are as people leave them.
  const std::string text = R"T1({
  "General": {"BenchmarkName": "demo", "OutputFormat": "JSON"},
  "ConfigurationSpace": {
    "TuningParameters": [
		{"Name": "x", "Type": "int", "Values": "[2**i for i in range(6)]", "Default": 8},
      {"Name": "y", "Type": "int", "Values": "list(range(1, 5))", "Default": 2},
      {"Name": "v", "Type": "string", "Values": "['half', 'float']", "Default": "float"}
    ],
    "Conditions": [
      {"Expression": "4 <= x * y <= LIMIT", "Parameters": ["x", "y"]},
      {"Expression": "v == 'half' or x % 4 == 0", "Parameters": ["v", "x"]}
    ]
  },
  "BenchmarkConfig": {"LIMIT": 64, "dataSize": 4096},
  "KernelSpecification": {"Language": "CUDA", "KernelName": "k", "KernelFile": "k.cu", "Stream": null}
})T1";
  CHECK(looks_like_t1(text));
  const T1File file = parse_t1(text, "folder/demo_T1.json");
  CHECK(file.parts.name == "demo_T1");
  CHECK(file.benchmark == "demo");
  CHECK(file.kernel_name == "k");
  CHECK(file.kernel_file == "k.cu");
  const Space space = Space::build(file.parts);
  std::uint64_t expected = 0;
  for (int x = 1; x <= 32; x *= 2)
    for (int y = 1; y <= 4; ++y)
      for (const bool half : {true, false})
        if (4 <= x * y && x * y <= 64 && (half || x % 4 == 0)) ++expected;
  CHECK(space.count() == expected);
  REQUIRE(space.preset("default") != nullptr);
  CHECK(space.preset("default")->config.to_json() == R"({"x":8,"y":2,"v":"float"})");
}

TEST_CASE("T1: values in every form that files have") {
  CHECK(values_of(R"("Type": "int", "Values": [1, 2.0, true])") == integers({1, 2}));
  CHECK(values_of(R"("Type": "int", "Values": "[1, 2, 2, 1]")") == integers({1, 2}));
  CHECK(values_of(R"("Type": "uint32_t", "Values": ["1", "2**4"])") == integers({1, 16}));
  CHECK(values_of(R"("Values": 7)") == integers({7}));
  CHECK(values_of("\"Values\": \"range(3)\"") == integers({0, 1, 2}));
  CHECK(values_of(R"("Type": "float", "Values": "[1, 0.5]")") == std::vector<Value>{1.0, 0.5});
  CHECK(values_of(R"("Values": [1, 0.5])") == std::vector<Value>{1.0, 0.5});
  CHECK(values_of(R"("Type": "bool", "Values": [0, 1])") == std::vector<Value>{false, true});
  CHECK(values_of(R"("Values": [true, false])") == std::vector<Value>{true, false});
  CHECK(values_of(R"("Values": "[True, False]")") == std::vector<Value>{true, false});
  CHECK(values_of(R"("Type": "string", "Values": ["float 4", "1"])") ==
        std::vector<Value>{std::string("float 4"), std::string("1")});
  CHECK(values_of(R"("Type": "string", "Values": "['a', 'b']")") ==
        std::vector<Value>{std::string("a"), std::string("b")});
}

TEST_CASE("T1: a default that does not fit is no preset") {
  const auto presets = [](const std::string& value, const std::string& rest = "") {
    return parse_t1(
               with(R"({"Name": "p", "Type": "int", "Values": "[1, 2]", "Default": )" + value + "}",
                    rest),
               "f.json")
        .parts.presets.size();
  };
  CHECK(presets("1") == 1);
  CHECK(presets("3") == 0);
  CHECK(presets("[1]") == 0);
  CHECK(presets("null") == 0);
  CHECK(presets("\"q(\"") == 0);
  CHECK(presets("1", R"(, "Conditions": ["p > 1"])") == 0);
  CHECK(presets("2", R"(, "Conditions": ["p > 1"])") == 1);
  CHECK(presets("1", R"(, "Conditions": null)") == 1);
}

TEST_CASE("T1: what is wrong is told with its place") {
  const std::string good = R"({"Name": "p", "Values": "[1, 2]"})";
  CHECK(error_of(with(good)) == "no error");
  CHECK(error_of(R"({"ConfigurationSpace": {}})").find("f.json:1:") == 0);
  CHECK(error_of(with("")).find("at least one parameter") != std::string::npos);
  CHECK(error_of(with(R"({"Values": "[1]"})")).find("Name") != std::string::npos);
  CHECK(error_of(with(R"({"Name": "p"})")).find("Values") != std::string::npos);
  CHECK(error_of(with(R"({"Name": "p q", "Values": "[1]"})")).find("expected a name") !=
        std::string::npos);
  CHECK(error_of(with(good + "," + good)).find("defined twice") != std::string::npos);
  CHECK(error_of(with(R"({"Name": "p", "Type": "complex", "Values": "[1]"})"))
            .find("expected int, float, bool or string") != std::string::npos);
  CHECK(error_of(with(R"({"Name": "p", "Type": "int", "Values": "[0.5]"})"))
            .find("expected an integer") != std::string::npos);
  CHECK(error_of(with(R"({"Name": "p", "Values": "[]"})")).find("no values") != std::string::npos);
  CHECK(error_of(with(R"({"Name": "p", "Values": "[1, __import__('os')]"})"))
            .find("f.json:1:75: '__import__'") == 0);
  CHECK(error_of(with(good, R"(, "Conditions": [{"Expression": "p.x"}])")).find("attributes") !=
        std::string::npos);
  CHECK(error_of(with(good, R"(, "Conditions": ["q > 1"])")).find("unknown name 'q'") !=
        std::string::npos);
  CHECK(error_of(with(good, R"(, "Conditions": ["p > 2"])")).find("no config is valid") !=
        std::string::npos);
  CHECK(error_of("{\"ConfigurationSpace\": [").find("f.json") == 0);
}

TEST_CASE("T1: where a YAML space is wanted, it says what can be done") {
  CHECK_FALSE(looks_like_t1("name: x"));
  CHECK_THROWS_WITH_AS(parse_space_file(with(R"({"Name": "p", "Values": "[1]"})"), "f.json"),
                       doctest::Contains("fa-tune space"), UserError);
}

TEST_CASE("T1: the community's own files have the counts that others found") {
  const char* set = std::getenv("FA_TUNE_HUB");
  const std::filesystem::path hub =
      set != nullptr ? std::filesystem::path(set)
                     : std::filesystem::path(FA_TUNE_ROOT) / ".." / "shared" / "hub";
  constexpr std::pair<const char*, std::uint64_t> known[] = {{"hotspot_bat_T1.json", 349'853},
                                                             {"gemm_T1.json", 116'928},
                                                             {"convolution_T1.json", 4'362},
                                                             {"dedispersion_T1.json", 11'130}};
  for (const auto& [name, count] : known) {
    if (!std::filesystem::exists(hub / name)) {
      log_warning("{}: not here, its count is not checked; FA_TUNE_HUB names the folder",
                  (hub / name).string());
      continue;
    }
    CAPTURE(name);
    CHECK(Space::build(parse_t1(read_file(hub / name), name).parts).count() == count);
  }
}

}  // namespace fa_tune::test
