// What a search cost, by what its sessions tell.

#include "engine/report/cost.hpp"

#include <doctest/doctest.h>

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::report;

namespace {

SessionRow session(const char* devices, const char* breakdown) { return {devices, breakdown}; }

}  // namespace

TEST_CASE("a search costs the time that its GPUs were held, at work or not") {
  const std::vector<SessionRow> sessions = {
      session(R"(["cuda:0","cuda:1"])", R"({"wall_s":30.0,"busy_s":12.0,"joules":9000.0})"),
      session(R"(["cuda:0"])", R"({"wall_s":12.0,"busy_s":12.0,"joules":3000.0})")};
  const RunCost cost = cost_of(sessions, true);
  CHECK(cost.gpu_s == doctest::Approx(72));
  REQUIRE(cost.joules);
  CHECK(*cost.joules == doctest::Approx(12000));
  CHECK(cost_words(cost, 40.0, 3.0) ==
        std::vector<std::string>{"72 GPU seconds, 12 kJ, 0.06 at 3.00 a GPU hour",
                                 "1.8 GPU seconds, 0.3 kJ, 0.0015 at 3.00 a GPU hour for each of "
                                 "the 40.0 percent by which its best takes less time than its "
                                 "first trial that passed"});
  CHECK(cost_words(cost, std::nullopt, std::nullopt) ==
        std::vector<std::string>{"72 GPU seconds, 12 kJ"});
  // Nothing gained is nothing to divide by.
  CHECK(cost_words(cost, -2.0, std::nullopt).size() == 1);
}

TEST_CASE("energy that one session does not know is not known of the run") {
  const auto with = session(R"(["cuda:0"])", R"({"wall_s":30.0,"joules":9000.0})");
  for (const char* without : {R"({"wall_s":12.0,"joules":null})", R"({"wall_s":12.0})"}) {
    const RunCost cost = cost_of({with, session(R"(["cuda:0"])", without)}, true);
    CHECK(cost.gpu_s == doctest::Approx(42));
    CHECK_FALSE(cost.joules);
    CHECK(cost_words(cost, std::nullopt, std::nullopt) ==
          std::vector<std::string>{"42 GPU seconds, energy unknown: NVML does not tell it"});
  }
}

TEST_CASE("where no GPU ran there is no cost of one") {
  const auto emulated = session(R"(["emulator:h100"])", R"({"wall_s":30.0,"joules":null})");
  CHECK(cost_words(cost_of({emulated}, false), 50.0, 3.0).empty());
  CHECK(cost_words(cost_of({}, true), 50.0, 3.0).empty());
  CHECK(cost_words(cost_of({session("no JSON", "nor this")}, true), 50.0, 3.0).empty());
}

}  // namespace fa_tune::test
