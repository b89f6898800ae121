#include "engine/tuner/loop/breakdown.hpp"

#include <doctest/doctest.h>

namespace fa_tune::test {

using namespace fa_tune::tuner;

TEST_CASE("a breakdown says where time went, and what to do where both sides wait") {
  Breakdown both;
  CHECK(describe(both).empty());
  both.devices = {"cuda:0"};
  both.jobs = 16;
  both.trials = both.gated = 347;
  both.wall_s = 30;
  both.compile_s = 235;
  both.compilers_s = 480;
  both.gate_s = 7.2;
  both.time_s = 5.6;
  both.busy_s = 13;
  both.idle_s = 17;
  both.idle_for_engine_s = 2.3;
  const auto lines = describe(both);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].find("11.6 trials/s") == 0);
  CHECK(lines[0].find("busy 43%") != std::string::npos);
  CHECK(lines[0].find("waits 49% for compilers, 8% for the engine") != std::string::npos);
  CHECK(lines[1].find("16 compilers: 677.2 ms a trial, busy 49%") == 0);
  CHECK(lines[2].find("--ahead") != std::string::npos);

  both.joules = 10'500;
  REQUIRE(describe(both).size() == 4);
  CHECK(describe(both)[2] == "energy: 10.5 kJ in 30.0 s, 350 W on average");
  both.joules.reset();

  // Half of them came with a node, half a minute late.
  Breakdown late = both;
  late.jobs = 32;
  late.compilers_s = 720;
  CHECK(describe(late)[1].find(
            "24.0 compilers on average, 32 at most: 677.2 ms a trial, busy 33%") == 0);

  // With compilers that are full, more trials on their way would only queue.
  Breakdown compiling = both;
  compiling.compile_s = 450;
  CHECK(describe(compiling).size() == 2);
  // Nor does a device that is full gain by it.
  Breakdown busy = both;
  busy.busy_s = 28;
  busy.idle_s = 2;
  busy.idle_for_engine_s = 0;
  CHECK(describe(busy).size() == 2);
}

}  // namespace fa_tune::test
