#include "engine/report/insights.hpp"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/util/random.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::report;
using namespace fa_tune::search;

namespace {

// All 4 x 3 x 2 configs: STAGES 2 takes 20% less time than 1, 3 always fails, VEC does nothing.
void fill(Store& store, std::int64_t run, double noise) {
  Random random(9);
  std::int64_t number = 0;
  for (const int block : {16, 32, 64, 128})
    for (const int stages : {1, 2, 3})
      for (const int vec : {1, 2}) {
        const double us = 100 * (stages == 2 ? 0.8 : 1.0) * std::exp(noise * random.normal());
        TrialRow trial = a_trial(run, ++number, us);
        trial.config_json =
            nlohmann::ordered_json({{"BLOCK", block}, {"STAGES", stages}, {"VEC", vec}}).dump();
        if (stages == 3) {
          trial.stage = "resources";
          trial.outcome = Outcome::failed;
          trial.screen_time.reset();
        }
        store.record_trial(trial, {}, {}, "kernel");
      }
}

}  // namespace

TEST_CASE("insights of a stored run, in words, with their kind of time") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  RunRow run = a_run();
  run.time_kind = "measured";
  run.id = store.begin_run(run);
  fill(store, run.id, 0.005);
  const Insights insights = insights_of(store, run.id);
  CHECK(insights.trials() == 24);
  CHECK(insights.passed() == 16);
  const std::string text = insights_text(run, insights, {}, 3);
  CAPTURE(text);
  CHECK(has(text, "Insights of run 1, 24 trials, 16 passed."));
  CHECK(has(text, "measured times"));
  CHECK(has(text, "STAGES 2 over 1: 20.1% faster (19.8..20.4%)"));
  CHECK(has(text, "n=8 pairs"));
  CHECK(has(text, "no effect seen, at most"));
  CHECK(has(text, "STAGES 3: 100% (8 of 8, 68..100%) fail, others 0% (0 of 16, 0..19%)"));
  CHECK(has(text, "at resources 8"));
  CHECK(!has(text, "predicted"));
  // Seven values have a failure rate; two-valued VEC is asked about once.
  CHECK(has(text, "Values that fail: 1 of 8 stand out from chance"));
  CHECK(has(text, "and 5 more"));

  run.time_kind = "predicted";
  CHECK(has(insights_text(run, insights, {}, 3), "STAGES 2 over 1: predicted 20.1% faster"));
}

TEST_CASE("insights as JSON, and kept with their run") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  RunRow run = a_run();
  run.id = store.begin_run(run);
  fill(store, run.id, 0.01);
  const Insights insights = insights_of(store, run.id);
  const auto json = nlohmann::json::parse(insights_json(run, insights, {}));
  CHECK(json["run"] == run.id);
  CHECK(json["time_kind"] == "predicted");
  CHECK(json["passed"] == 16);
  const auto& first = json["effects"][0];
  CHECK(first["gene"] == "STAGES");
  CHECK(first["value"] == 2);
  CHECK(first["against"] == 1);
  CHECK(first["seen"] == true);
  CHECK(first["method"] == "pairs");
  CHECK(first["n"] == 8);
  CHECK(first["ratio"]["estimate"] == doctest::Approx(0.8).epsilon(0.01));
  CHECK(first["ratio"]["low"] < 0.8);
  CHECK(first["ratio"]["high"] > 0.8);
  CHECK(json["failures"][0]["stages"]["resources"] == 8);
  CHECK(json["operators"][0]["operation"] == "mutate");

  const auto rows = insight_rows(insights, run.time_kind);
  store.record_insights(run.id, rows);
  store.record_insights(run.id, rows);
  CHECK(store.insights(run.id).size() == rows.size());
  CHECK(store.insights(run.id).front() == rows.front());
  CHECK(store.insights(run.id + 1).empty());
  CHECK(ask(folder / "a.db",
            "SELECT json_extract(insight, '$.gene') FROM insights "
            "WHERE kind = 'effect' AND place = 1 AND seen") == "STAGES");
}

TEST_CASE("screens alone are compared, and a duplicate is no observation of its own") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  const auto config = [](int block, int stages, int vec) {
    return nlohmann::ordered_json({{"BLOCK", block}, {"STAGES", stages}, {"VEC", vec}}).dump();
  };
  // STAGES 2 is faster in each of six pairs; VEC makes no other code.
  std::int64_t number = 0;
  for (int block = 0; block < 6; ++block)
    for (const int stages : {1, 2}) {
      TrialRow original = a_trial(run, ++number, (stages == 2 ? 40 : 50) + 0.1 * block);
      original.config_json = config(block, stages, 1);
      const std::int64_t id = store.record_trial(original, {}, {}, "kernel");
      store.record_final(id, {10, 10, 10}, {10});
      for (const int vec : {2, 3}) {
        TrialRow duplicate = a_trial(run, ++number, 1);
        duplicate.config_json = config(block, stages, vec);
        duplicate.stage = "duplicate_code";
        duplicate.outcome = Outcome::duplicate;
        duplicate.duplicate_of = id;
        duplicate.screen_time.reset();
        store.record_trial(duplicate, {}, {}, "kernel");
      }
    }
  const Insights insights = insights_of(store, run);
  CHECK(insights.trials() == 36);
  CHECK(insights.passed() == 36);
  const auto effects = insights.effects();
  const auto stages = std::ranges::find(effects, "STAGES", &Effect::gene);
  REQUIRE(stages != effects.end());
  CHECK(stages->n == 6);
  CHECK(stages->log_ratio == doctest::Approx(std::log(40.25 / 50.25)).epsilon(0.01));
  CHECK(std::ranges::find(effects, "VEC", &Effect::gene) == effects.end());
}

TEST_CASE("screens of a clock that wanders are compared by their cycles") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  Random random(3);
  // STAGES 2 takes 2% fewer cycles; the clock is anywhere within 10%.
  std::int64_t number = 0;
  for (int block = 0; block < 12; ++block)
    for (const int stages : {1, 2}) {
      const double mhz = 1700 * (0.95 + 0.1 * random.uniform());
      const double kilocycles = (stages == 2 ? 98 : 100) * (1 + 0.001 * random.normal());
      TrialRow trial = a_trial(run, ++number, kilocycles * 1000 / mhz);
      trial.config_json = nlohmann::ordered_json({{"BLOCK", block}, {"STAGES", stages}}).dump();
      trial.detail_json = nlohmann::json({{"kilocycles", kilocycles}}).dump();
      store.record_trial(trial, {}, {}, "kernel");
    }
  const auto effects = insights_of(store, run).effects();
  const auto stages = std::ranges::find(effects, "STAGES", &Effect::gene);
  REQUIRE(stages != effects.end());
  CHECK(stages->seen);
  CHECK(stages->log_ratio == doctest::Approx(std::log(0.98)).epsilon(0.1));
}

}  // namespace fa_tune::test
