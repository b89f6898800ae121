#include "engine/community/replay/trace.hpp"

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/gzip.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::community;

namespace {

const std::string kHeader = "tuner,table,seed,evaluation,key,time_ms,elapsed_ms\n";

std::vector<TunerTraces> read(const std::string& bytes) {
  const test::ScratchFolder folder;
  write_file(folder / "trace.csv", bytes);
  return read_traces(folder / "trace.csv");
}

}  // namespace

TEST_CASE("trace: runs by tuner, table and seed, packed or not") {
  const std::string text = kHeader +
                           "pso,t,0,1,\"16,1\",2.5,100\n"
                           "pso,t,1,1,\"8,1\",,90\n"
                           "pso,t,0,4,\"16,2\",1.5,300.25\n"
                           "random,t,0,1,\"1,1\",7,1\r\n";
  for (const auto& bytes : {text, gzip(text)}) {
    const auto traces = read(bytes);
    REQUIRE(traces.size() == 2);
    CHECK(traces[0].tuner == "pso");
    CHECK(traces[0].table == "t");
    REQUIRE(traces[0].runs.size() == 2);
    REQUIRE(traces[0].runs[0].size() == 2);
    CHECK(traces[0].runs[0][1].evaluation == 4);
    CHECK(traces[0].runs[0][1].elapsed_ms == 300.25);
    CHECK(traces[0].runs[0][1].time_ms == 1.5);
    CHECK_FALSE(traces[0].runs[1][0].time_ms);
    CHECK(traces[1].runs[0][0].time_ms == 7);
  }
}

TEST_CASE("trace: what is wrong is told with its line") {
  CHECK_THROWS_WITH_AS(read("a,b\n"), doctest::Contains(":1: expected the columns"), UserError);
  CHECK_THROWS_WITH_AS(read(kHeader + "a,t,0,1,k,1\n"), doctest::Contains(":2: expected 7 fields"),
                       UserError);
  CHECK_THROWS_WITH_AS(read(kHeader + "a,t,0,1,k,x,1\n"), doctest::Contains("time_ms"), UserError);
  CHECK_THROWS_WITH_AS(read(kHeader + "a,t,0,2,k,1,1\na,t,0,1,k,1,2\n"), doctest::Contains(":3:"),
                       UserError);
  CHECK_THROWS_AS(read(kHeader + "a,t,0,1,k,1,-1\n"), UserError);
}

}  // namespace fa_tune::test
