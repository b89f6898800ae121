#include <doctest/doctest.h>

#include "engine/community/table/recorded_table.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::test {

using namespace fa_tune::community;
using namespace fa_tune::space;

namespace {

const std::string kCachefile = R"({
"device_name": "D", "kernel_name": "K", "problem_size": 10,
"tune_params_keys": ["x", "b", "f", "s"],
"tune_params": {"b": [true, false], "x": [16, 8], "f": [0.5, 1], "s": ["half", "float 4"]},
"objective": "time",
"cache": {
"16,True,0.5,half": {"x": 16, "b": true, "f": 0.5, "s": "half", "time": 2.5, "times": [2, 3],
  "compile_time": 100, "verification_time": 10, "benchmark_time": 1, "framework_time": 1000},
"8,False,1,float 4": {"x": 8, "b": false, "f": 1, "s": "float 4", "time": "CompilationFailedConfig",
  "compile_time": 7, "verification_time": 0, "benchmark_time": null},
"8,True,1,half": {"x": 8, "b": true, "f": 1, "s": "half", "time": 1e20},
"16,False,1,half": {"x": 16, "b": false, "f": 1, "s": "half", "__error__": "RuntimeFailedConfig"},
"16,True,1,half": {"x": 16, "b": true, "f": 1, "s": "half", "time": NaN}}})";

const std::string kT4 = R"({"metadata": {"timeunit": "miliseconds"}, "results": [
{"configuration": {"y": 8, "x": true}, "times": {"compilation": 5, "validation": 2, "runtimes": [1, 2]},
 "invalidity": "correct", "measurements": [{"name": "energy", "value": 9}, {"name": "time", "value": 1.5}],
 "objectives": ["time"]},
{"configuration": {"y": 2, "x": true}, "times": {"compilation_time": 4}, "invalidity": "compile",
 "measurements": [{"name": "time", "value": "CompilationFailedConfig"}]},
{"configuration": {"y": 4, "x": false}, "times": {}, "invalidity": "correctness", "measurements": []}],
"schema_version": "1.0.0"})";

const TableEntry& entry_of(const RecordedTable& table, const std::string& key) {
  for (const TableEntry& entry : table.entries)
    if (entry.key == key) return entry;
  throw std::runtime_error("no entry " + key);
}

}  // namespace

TEST_CASE("table: configs with the same samples are told, if there are enough of them") {
  const auto samples = [](const std::string& times) {
    const RecordedTable table =
        parse_table(R"({"tune_params": {"x": [1]}, "cache": {"1": {"x": 1, "time": 1, "times": )" +
                        times + "}}}",
                    "some.json");
    return table.entries.at(0).samples;
  };
  CHECK(samples("[1, 2, 1, 1, 1]") != 0);
  CHECK(samples("[1, 2, 1, 1, 1]") == samples("[1, 2, 1, 1, 1]"));
  CHECK(samples("[1, 2, 1, 1, 1]") != samples("[1, 1, 2, 1, 1]"));
  for (const char* few : {"[1, 2, 1, 1]", "[1, 1, 1, 1, 1]", "[]", "7"}) CHECK(samples(few) == 0);
}

TEST_CASE("table: a cachefile's parameters, times, costs and failures") {
  const RecordedTable table = parse_table(kCachefile, "folder/some_D.json.gz");
  CHECK(table.name == "some_D");
  CHECK(table.device == "D");
  CHECK(table.kernel == "K");
  CHECK_FALSE(table.cut);
  REQUIRE(table.parameters.size() == 4);
  CHECK(table.parameters[0].name == "x");
  CHECK(table.parameters[0].values == std::vector<Value>{std::int64_t{16}, std::int64_t{8}});
  CHECK(table.parameters[1].values == std::vector<Value>{true, false});
  // 0.5 and 1 are of one parameter: both are real.
  CHECK(table.parameters[2].values == std::vector<Value>{0.5, 1.0});
  CHECK(table.parameters[3].values ==
        std::vector<Value>{std::string("half"), std::string("float 4")});
  REQUIRE(table.entries.size() == 5);
  const TableEntry& right = entry_of(table, "16,True,0.5,half");
  CHECK(right.time_ms == 2.5);
  CHECK(right.cost_ms == 111);
  CHECK(right.failure == Failure::none);
  CHECK(right.genome == Genome{0, 0, 0, 0});
  CHECK(entry_of(table, "8,False,1,float 4").failure == Failure::compile);
  CHECK(entry_of(table, "8,False,1,float 4").cost_ms == 7);
  CHECK(entry_of(table, "8,True,1,half").failure == Failure::other);
  CHECK(entry_of(table, "16,False,1,half").failure == Failure::runtime);
  CHECK_FALSE(entry_of(table, "16,True,1,half").time_ms);
}

TEST_CASE("table: T4 has no parameters of its own; numbers are sorted") {
  const RecordedTable table = parse_table(kT4, "t.json");
  REQUIRE(table.parameters.size() == 2);
  CHECK(table.parameters[0].name == "y");
  CHECK(table.parameters[0].values ==
        std::vector<Value>{std::int64_t{2}, std::int64_t{4}, std::int64_t{8}});
  CHECK(table.parameters[1].values == std::vector<Value>{false, true});
  CHECK(entry_of(table, "8,True").time_ms == 1.5);
  CHECK(entry_of(table, "8,True").cost_ms == 10);
  CHECK(entry_of(table, "2,True").failure == Failure::compile);
  CHECK(entry_of(table, "2,True").cost_ms == 4);
  CHECK(entry_of(table, "4,False").failure == Failure::wrong);
}

TEST_CASE("table: seconds are made milliseconds") {
  std::string text = kT4;
  text.replace(text.find("miliseconds"), 11, "seconds");
  CHECK(entry_of(parse_table(text, "t.json"), "8,True").time_ms == 1500);
  text.replace(text.find("seconds"), 7, "fortnights");
  CHECK_THROWS_AS(parse_table(text, "t.json"), UserError);
}

TEST_CASE("table: cut anywhere, all whole entries are kept") {
  const RecordedTable whole = parse_table(kCachefile, "t.json");
  const std::size_t first = kCachefile.find("\"16,True,0.5");
  std::size_t most = 0;
  for (std::size_t size = 0; size < kCachefile.size(); ++size) {
    CAPTURE(size);
    const std::string text = kCachefile.substr(0, size);
    const std::size_t entries = [&] {
      std::size_t ends = 0;
      for (std::size_t at = text.find('}', first); at != std::string::npos;
           at = text.find('}', at + 1))
        ++ends;
      return std::min<std::size_t>(ends, 5);
    }();
    if (size < first || entries == 0) {
      CHECK_THROWS_AS(parse_table(text, "t.json"), UserError);
      continue;
    }
    const RecordedTable table = parse_table(text, "t.json");
    CHECK(table.cut);
    CHECK(table.entries.size() == entries);
    CHECK(table.parameters[0].values == whole.parameters[0].values);
    most = std::max(most, entries);
  }
  CHECK(most == 5);
  // The usual end of a run that was stopped.
  CHECK(parse_table(kCachefile.substr(0, kCachefile.find("\n\"8,True")), "t.json").entries.size() ==
        2);
}

TEST_CASE("table: its space holds the recorded configs and no others") {
  const RecordedTable table = parse_table(kCachefile, "t.json");
  const Space space = table.space();
  CHECK(space.count() == 5);
  for (std::uint64_t i = 0; i < space.count(); ++i) {
    const Genome genome = space.genome_at(i);
    CHECK(table.find(genome) != nullptr);
    CHECK(space.rank(genome) == i);
    for (const auto neighborhood :
         {Neighborhood::adjacent, Neighborhood::one_gene, Neighborhood::linked}) {
      std::vector<Genome> near;
      space.neighbors(genome, neighborhood, near);
      for (const Genome& other : near) CHECK(table.find(other) != nullptr);
    }
  }
  CHECK(table.find({1, 0, 0, 0}) == nullptr);
  CHECK_FALSE(space.valid({1, 0, 0, 0}));
  CHECK(space.why_invalid(space.config({1, 0, 0, 0})));
}

TEST_CASE("table: of a config recorded twice the later one counts") {
  const RecordedTable table = parse_table(
      R"({"tune_params_keys":["x"],"tune_params":{"x":[1]},"cache":{"1":{"x":1,"time":5},"1":{"x":1,"time":4}}})",
      "t.json");
  REQUIRE(table.entries.size() == 1);
  CHECK(table.entries[0].time_ms == 4);
  CHECK_FALSE(table.has_costs);
}

TEST_CASE("table: what is none is refused with its file") {
  for (const std::string text :
       {"", "{}", "[]", "null", "not json", R"({"cache": {}})", R"({"results": []})",
        R"({"results": [1, 2]})", R"({"results": [{"times": {}}]})",
        R"({"tune_params":{"x":[1]},"cache":{"1":{"time":1}}})",
        R"({"tune_params":{"x":[1]},"cache":{"1":{"x":1}}})",
        R"({"results": [{"times": {}, "configuration": 1}]})",
        R"({"tune_params":{"x":[1]},"results":[{"times":{},"configuration":{"y":1}}]})"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_table(text, "odd.json"), doctest::Contains("odd.json"), UserError);
  }
}

}  // namespace fa_tune::test
