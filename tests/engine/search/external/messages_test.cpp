#include "engine/search/external/messages.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::expression;
using namespace fa_tune::search;
using namespace fa_tune::space;
using Json = nlohmann::ordered_json;

namespace {

Space small() {
  SpaceParts parts;
  parts.name = "small";
  parts.parameters.push_back({"kind", {Value("a"), Value("b")}, {}, {}});
  parts.parameters.push_back({"N", {Value(8), Value(16), Value(32)}, {}, {}});
  parts.parameters.push_back({"FLAG", {Value(true), Value(false)}, {}, {}});
  parts.parameters.push_back({"DEEP", {Value(1), Value(2)}, Expression::parse("kind == 'b'"), {}});
  parts.derived.push_back({"TWICE", Expression::parse("2 * N"), ""});
  parts.constraints.push_back({Expression::parse("N <= limit"), "it must fit", ""});
  parts.constraints.push_back({Expression::parse("DEEP * N >= 16"), "", ""});
  parts.constants["limit"] = Value(16);
  parts.presets.push_back({"first", Config({{"kind", "a"}, {"N", 8}, {"FLAG", true}}), {}});
  return Space::build(std::move(parts));
}

std::string why_not(const std::string& line) {
  const auto answer = read_answer(line);
  return answer ? "it is one" : answer.error();
}

RawItem item_of(const std::string& item) {
  const auto answer = read_answer(R"({"type":"propose","id":1,"items":[)" + item + "]}");
  REQUIRE(answer);
  REQUIRE(answer->items.size() == 1);
  return answer->items.front();
}

}  // namespace

TEST_CASE("hello holds the whole space, and what the proposer works for") {
  const Space space = small();
  const Json hello = Json::parse(hello_line(space, {R"({"id":"cuda:0"})", R"({"minimize":"time"})",
                                                    R"({"trials":9})", 18446744073709551615U}));
  CHECK(hello["type"] == "hello");
  CHECK(hello["v"] == 2);
  CHECK(hello["seed"] == 18446744073709551615U);
  CHECK(hello["device"]["id"] == "cuda:0");
  CHECK(hello["budget"]["trials"] == 9);
  const Json& sent = hello["space"];
  CHECK(sent["count"] == space.count());
  CHECK(sent["parameters"].dump() ==
        R"([{"name":"kind","values":["a","b"]},{"name":"N","values":[8,16,32]},)"
        R"({"name":"FLAG","values":[true,false]},)"
        R"({"name":"DEEP","values":[1,2],"when":"kind == 'b'"}])");
  CHECK(sent["derived"].dump() == R"([{"name":"TWICE","expression":"2 * N"}])");
  CHECK(sent["constraints"].dump() ==
        R"([{"expression":"N <= limit","because":"it must fit"},{"expression":"DEEP * N >= 16"}])");
  CHECK(sent["constants"].dump() == R"({"limit":16})");
  CHECK(sent["presets"].dump() == R"([{"name":"first","genome":{"kind":"a","N":8,"FLAG":true}}])");
}

TEST_CASE("what is told is one line, whatever a compiler or a space said") {
  TrialReport report;
  report.number = 3;
  report.config = Config({{"N", 8}});
  report.status = Outcome::failed;
  report.stage = "compile";
  report.finding = "compile_error";
  report.message = "line 1\nline \"2\" \xFF";
  report.metrics = {{"registers", 32},
                    {"worst_error_over_bound", std::numeric_limits<double>::quiet_NaN()}};
  const std::string line = tell_line(report, ItemPlace{2, 5});
  CHECK_FALSE(test::has(line, "\n"));
  const Json tell = Json::parse(line);
  CHECK(tell["trial"] == 3);
  CHECK(tell["id"] == 2);
  CHECK(tell["idx"] == 5);
  CHECK(tell["time"].is_null());
  CHECK(tell["interval"].is_null());
  CHECK(tell["metrics"].dump() == R"({"registers":32.0})");

  report.time_us = 2;
  report.low_us = 1.5;
  report.high_us = 2.5;
  const Json timed = Json::parse(tell_line(report, std::nullopt));
  CHECK(timed["id"].is_null());
  CHECK(timed["time"] == 2);
  CHECK(timed["interval"].dump() == "[1.5,2.5]");

  const Json ask = Json::parse(ask_line({4, 8, R"({"trials":84})", {&report}}));
  CHECK(ask["best"] == ask["elites"][0]);
  CHECK(ask["best"].dump() == R"({"trial":3,"genome":{"N":8},"time":2.0})");
  CHECK(Json::parse(ask_line({1, 8, "{}", {}}))["best"].is_null());
}

TEST_CASE("lines that are no answer are told why") {
  CHECK(why_not("") == "the line is no JSON");
  CHECK(why_not("{\"type\":") == "the line is no JSON");
  CHECK(why_not("{\"type\":\"\xFF\"}") == "the line is no JSON");
  CHECK(why_not("[1]") == "the line is no JSON object");
  CHECK(why_not("{}") == "the line has no type");
  CHECK(why_not(R"({"type":7})") == "the line has no type");
  CHECK(why_not(R"({"type":"tell","time":1})") == "expected ready or propose, not 'tell'");
  CHECK(why_not(R"({"type":"ready"})") == "ready without a name");
  CHECK(why_not(R"({"type":"ready","name":"a b"})") ==
        "the name 'a b' is not 1 to 40 letters, digits, '_', '-' or '.'");
  for (const char* id : {"", R"(,"id":-1)", R"(,"id":1.5)", R"(,"id":99999999999)", R"(,"id":"1")"})
    CHECK(why_not(std::string(R"({"type":"propose","items":[])") + id + "}") ==
          "propose without the id of an ask");
  CHECK(why_not(R"({"type":"propose","id":1,"items":{}})") == "propose without a list of items");
  std::string many = R"({"type":"propose","id":1,"items":[0)";
  for (int i = 0; i < 1000; ++i) many += ",0";
  CHECK(why_not(many + "]}") == "propose with 1001 items, the most are 1000");
  CHECK(why_not(std::string(1 << 20, '[')) ==
        "the line cannot be read: it is nested deeper than 64 levels");
  CHECK(read_answer(R"({"type":"ready","name":"a-b_c.2"})")->name == "a-b_c.2");
}

TEST_CASE("an item is a genome, parents and a note; whatever else it holds is ignored and named") {
  const RawItem item = item_of(
      R"({"genome":{"N":8,"kind":"a"},"parents":[3,1],"note":"a\u001bb","time_us":0.1,"status":"right"})");
  CHECK(item.problem.empty());
  CHECK(item.parents == std::vector<std::uint64_t>{3, 1});
  CHECK(item.note == "a?b");
  CHECK(item.ignored == std::vector<std::string>{"status", "time_us"});

  CHECK(item_of("7").problem == "it is no object with a genome");
  CHECK(item_of("{}").problem == "it has no genome");
  CHECK(item_of(R"({"genome":[8]})").problem == "its genome is no object of parameters and values");
  CHECK(item_of(R"({"genome":{"N":[8]}})").problem ==
        "its 'N' is no number of 64 bits, boolean or string");
  CHECK(item_of(R"({"genome":{"N":9223372036854775808}})").problem ==
        "its 'N' is no number of 64 bits, boolean or string");
  CHECK(item_of(R"({"genome":{"N":8},"parents":[-1]})").problem ==
        "its parents are no list of up to 8 trial numbers");
  CHECK(item_of(R"({"genome":{"N":8},"parents":[1,2,3,4,5,6,7,8,9]})").problem ==
        "its parents are no list of up to 8 trial numbers");
  CHECK(item_of(R"({"genome":{"N":8},"parents":[1,1]})").problem == "it names a parent twice");
}

TEST_CASE("a genome is read in any order, without what does not exist in it, and nothing else") {
  const Space space = small();
  const auto read = [&](const char* json) {
    const auto config = read_genome(space, json);
    return config ? config->to_json() : config.error();
  };
  CHECK(read(R"({"FLAG":true,"N":16,"kind":"a"})") == R"({"kind":"a","N":16,"FLAG":true})");
  CHECK(read(R"({"FLAG":true,"N":16,"kind":"a","DEEP":2})") ==
        R"({"kind":"a","N":16,"FLAG":true})");
  CHECK(read(R"({"kind":"b","N":16,"FLAG":true,"DEEP":2})") ==
        R"({"kind":"b","N":16,"FLAG":true,"DEEP":2})");
  CHECK(test::has(read(R"({"kind":"b","N":16,"FLAG":true})"), "'DEEP' is missing"));
  CHECK(test::has(read(R"({"kind":"a","N":32,"FLAG":true})"), "it must fit"));
  CHECK(test::has(read(R"({"kind":"b","N":8,"FLAG":true,"DEEP":1})"), "it breaks"));
  CHECK(test::has(read(R"({"kind":"a","N":"16","FLAG":true})"), "is not one of"));
  CHECK(test::has(read(R"({"kind":"a","N":16,"FLAG":1})"), "is not one of"));
  CHECK(test::has(read(R"({"kind":"a","N":16,"FLAG":true,"X":1})"), "X"));
}

}  // namespace fa_tune::test
