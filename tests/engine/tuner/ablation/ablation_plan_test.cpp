// Which variants an ablation asks for.

#include "engine/tuner/ablation/ablation_plan.hpp"

#include <set>

#include <doctest/doctest.h>

#include "tests/engine/tuner/toy.hpp"

namespace fa_tune::test {

using namespace fa_tune::report;
using namespace fa_tune::tuner;

namespace {

Config config(const char* json) { return Config::from_json(json); }

const char* const kTrial =
    R"({"template":"toy","BLOCK":128,"WORK":0,"FACTOR":2,"COMPILES":true,"NAME":"b"})";

Config plain_of(const TuningTask& task) { return task.space.preset("plain")->config; }

AblationPlan plan_of(const TuningTask& task) { return {task, config(kTrial), plain_of(task), 1}; }

std::string value(const AblationRow& row, const std::string& gene) {
  REQUIRE(row.config);
  const Value* found = row.config->find(gene);
  return found == nullptr ? "none" : fa_tune::to_text(*found);
}

}  // namespace

TEST_CASE("a gene goes back alone where that is valid") {
  const TuningTask task = test::toy_project();
  const AblationPlan plan = plan_of(task);
  CHECK(plan.differing() == std::vector<std::string>{"BLOCK", "WORK", "NAME"});
  CHECK(plan.alike() == std::vector<std::string>{"FACTOR", "COMPILES"});
  const AblationRow row = plan.back({"WORK"});
  CHECK(row.kind == AblationKind::back);
  CHECK(row.also.empty());
  CHECK(row.because.empty());
  CHECK(changes_text(row.wanted) == "WORK 0 -> 21");
  CHECK(value(row, "WORK") == "21");
  CHECK(value(row, "BLOCK") == "128");
  const AblationRow forward = plan.forward("BLOCK");
  CHECK(changes_text(forward.wanted) == "BLOCK 32 -> 128");
  CHECK(value(forward, "WORK") == "21");
  const AblationRow pair = plan.back({"WORK", "NAME"});
  CHECK(pair.kind == AblationKind::pair);
  CHECK(value(pair, "NAME") == "a");
  CHECK(value(pair, "BLOCK") == "128");
  CHECK(plan.whole_baseline().config == plain_of(task));
}

TEST_CASE("a constraint takes along as little of the trial as it must, and is named") {
  const TuningTask task = test::toy_project(
      {{"constraints:\n",
        "constraints:\n  - {expr: \"WORK < 13 or BLOCK <= 64 and NAME == 'b'\", because: "
        "planted}\n"},
       {"FACTOR: 2, COMPILES: true, NAME: a}", "FACTOR: 2, COMPILES: true, NAME: b}"}});
  const AblationRow row = plan_of(task).back({"WORK"});
  CHECK(value(row, "WORK") == "21");
  CHECK(value(row, "NAME") == "b");  // kept: nothing asked for it to change
  REQUIRE(row.also.size() == 1);
  CHECK(row.also.front().gene == "BLOCK");
  CHECK(std::get<std::int64_t>(*row.also.front().to) <= 64);
  CHECK(test::has(row.because, "planted"));
  CHECK_FALSE(task.space.why_invalid(*row.config));
}

TEST_CASE("what no valid config has is impossible, and is said to be") {
  const TuningTask task = test::toy_project(
      {{"constraints:\n", "constraints:\n  - {expr: \"FACTOR != 4\", because: planted}\n"}});
  const auto rows = plan_of(task).others("FACTOR");
  REQUIRE(rows.size() == 3);  // 1, 3 and 4: the two configs have 2
  for (const AblationRow& row : rows) {
    const bool is_four = row.wanted.front().to == Value(std::int64_t{4});
    CHECK((row.outcome == "impossible") == is_four);
    CHECK(row.config.has_value() == !is_four);
    if (is_four) CHECK(test::has(row.because, "planted"));
    // The others want more WORK with it.
    if (!is_four) CHECK(row.also.front().gene == "WORK");
  }
}

TEST_CASE("genes that come with a change take the baseline's values, and are told") {
  const TuningTask task =
      test::toy_project({{"NAME: [a, b]", "NAME: {values: [a, b, c], when: WORK > 8}"},
                         {"COMPILES: true, NAME: a}", "COMPILES: true, NAME: c}"}});
  const Config trial =
      config(R"({"template":"toy","BLOCK":128,"WORK":0,"FACTOR":2,"COMPILES":true})");
  const AblationPlan plan(task, trial, plain_of(task), 1);
  CHECK(plan.differing() == std::vector<std::string>{"BLOCK", "WORK"});
  const AblationRow row = plan.back({"WORK"});
  CHECK(value(row, "NAME") == "c");
  CHECK(changes_text(row.also) == "NAME none -> c");
  CHECK(value(plan.forward("WORK"), "NAME") == "none");
}

TEST_CASE("on a shipped space every gene of a winner goes back to what is valid") {
  const TuningTask task = test::task("h100.yaml");
  Random random(7);
  const Config baseline = task.space.preset("fa3")->config;
  int taken_along = 0;
  for (int i = 0; i < 5; ++i) {
    Config trial = task.space.sample(random);
    while (*trial.find("template") != Value(std::string("wgmma")))
      trial = task.space.sample(random);
    const AblationPlan plan(task, trial, baseline, 1);
    for (const std::string& gene : plan.differing()) {
      CAPTURE(gene);
      const AblationRow row = plan.back({gene});
      REQUIRE(row.config);
      CHECK_FALSE(task.space.why_invalid(*row.config));
      CHECK(*row.config->find(gene) == *baseline.find(gene));
      taken_along += !row.also.empty();
    }
  }
  CHECK(taken_along > 0);
}

}  // namespace fa_tune::test
