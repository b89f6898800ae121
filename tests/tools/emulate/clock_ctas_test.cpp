#include <array>

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "engine/util/random.hpp"
#include "tools/bench/emulator/clock/clock.hpp"

using namespace fa_tune;

TEST_CASE("a kernel's row says which SM ended last, and when its CTAs ran") {
  // SM 7 has the clock that is ahead, and SM 3 ends last: at 1300 of its own, after two CTAs of
  // which the later stands first.
  const std::array<std::uint64_t, 16> words = {1100, 1300, 3, 90,  //
                                               1000, 1120, 3, 50,  //
                                               9000, 9100, 7, 60,  //
                                               500,  700,  4, 80};
  const bench::Json row = bench::cta_row(words);
  CHECK(row.at("ctas_per_sm").dump() == R"({"1":2,"2":1})");
  CHECK(row.at("last_sm").dump() == R"({"ctas":2,"clocks":300,"of_mean":1.5})");
  CHECK(row.at("ctas_of_the_last").dump() == "[[0,120],[100,300]]");
}

TEST_CASE("of SMs that ended in one tick of the GPU's time the last is the one that ran longest") {
  const std::array<std::uint64_t, 12> words = {10, 40,  0, 5,  //
                                               20, 110, 1, 5,  //
                                               30, 60,  2, 5};
  CHECK(bench::cta_row(words).at("last_sm").at("clocks") == 90);
}

TEST_CASE("a CTA that left no end is a failure") {
  const std::array<std::uint64_t, 8> words = {10, 40, 0, 5, 20, 0, 0, 0};
  CHECK_THROWS_AS(bench::cta_row(words), MachineError);
  CHECK_THROWS_AS(bench::cta_row({}), MachineError);
}

// The emulator has one SM, and a clock that begins with each CTA.
TEST_CASE("all CTAs of an attention kernel note when they ran") {
  const std::string shape = "1,2,128,64";
  const tuner::TuningTask task = bench::ShapeName{shape}.open("l4.yaml");
  Random random(1);
  bench::Json measured = {{"space", "l4.yaml"}, {"shape", shape}, {"seed", 5}};
  for (const double us : {3.0, 2.0})
    measured["rows"].push_back({{"config", bench::Json::parse(task.space.sample(random).to_json())},
                                {"median_us", us},
                                {"registers", 1}});
  const bench::Json result =
      bench::ctas_of_variants(measured, {.device = "emulator:l4", .every = 2, .threads = 1});
  CHECK(result.at("seed") == 5);
  REQUIRE(result.at("rows").size() == 1);  // the fastest of two
  const bench::Json& row = result.at("rows")[0];
  CHECK(row.at("config") == measured["rows"][1]["config"]);
  CHECK(row.at("median_us") == 2.0);
  CHECK(!row.contains("registers"));
  CHECK(row.at("ctas_per_sm").size() == 1);
  const auto ctas = row.at("ctas_of_the_last").get<std::vector<std::array<std::uint64_t, 2>>>();
  CHECK(ctas.size() > 1);
  CHECK(row.at("last_sm").at("ctas") == ctas.size());
  for (const auto& [begin, end] : ctas) CHECK(begin < end);
}
