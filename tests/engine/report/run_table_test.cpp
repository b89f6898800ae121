#include <algorithm>

#include <doctest/doctest.h>

#include "engine/report/recorded_run.hpp"
#include "engine/util/error.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::community;
using namespace fa_tune::db;
using namespace fa_tune::report;
using test::a_run;
using test::a_trial;

TEST_CASE("run table: every trial of a run, with what it cost and gave") {
  const test::ScratchFolder folder;
  Store store(folder / "fa.db", Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  const std::int64_t first =
      store.record_trial(a_trial(run, 1, 80), {}, {{0, "screen", {79, 81}}}, "kernel 1");
  TrialRow failed = a_trial(run, 2, 0);
  failed.stage = "compile";
  failed.outcome = Outcome::failed;
  failed.finding = "compile_error";
  failed.code_hash = "";
  failed.screen_time.reset();
  store.record_trial(failed, {}, {}, "kernel 2");
  TrialRow duplicate = failed;
  duplicate.number = 3;
  duplicate.config_json = R"({"template":"scalar","BLOCK_M":3})";
  duplicate.stage = "duplicate_code";
  duplicate.outcome = Outcome::duplicate;
  duplicate.finding = "duplicate";
  duplicate.source_hash = "source3";
  duplicate.duplicate_of = first;
  duplicate.gate_ms = duplicate.measure_ms = 0;
  store.record_trial(duplicate, {}, {}, "kernel 3");

  const RecordedRun table = run_table(store, run);
  CHECK(table.device == "emulator of NVIDIA L4");
  CHECK(table.kernel == "attention");
  CHECK(table.problem_size == std::vector<std::int64_t>{1, 64, 8, 512});
  CHECK(std::ranges::find(table.facts, std::pair<std::string, std::string>{
                                           "time_kind", "predicted"}) != table.facts.end());
  REQUIRE(table.trials.size() == 3);
  CHECK(table.trials[0].time_ms == 0.08);
  CHECK(table.trials[0].samples_ms == std::vector<double>{0.079, 0.081});
  CHECK(table.trials[0].compile_ms == 312.5);
  CHECK(table.trials[0].verification_ms == 20.25);
  CHECK(table.trials[0].benchmark_ms == 7.125);
  CHECK(table.trials[1].failure == Failure::compile);
  CHECK_FALSE(table.trials[1].time_ms);
  CHECK(table.trials[2].time_ms == 0.08);
  CHECK(table.trials[2].benchmark_ms == 0);

  for (const std::string& text : {cachefile_text(table), t4_text(table)}) {
    const RecordedTable back = parse_table(text, "run.json");
    REQUIRE(back.entries.size() == 3);
    int timed = 0;
    double cost = 0;
    for (const TableEntry& entry : back.entries) {
      if (entry.time_ms) {
        ++timed;
        CHECK(entry.time_ms == 0.08);
      }
      cost += entry.cost_ms;
    }
    CHECK(timed == 2);
    CHECK(cost == 3 * 312.5 + 2 * (20.25 + 7.125));
  }
  CHECK_THROWS_AS(run_table(store, run + 1), UserError);
  CHECK_THROWS_AS(run_table(store, store.begin_run(a_run())), UserError);
}

TEST_CASE(
    "run fingerprint: a run keeps the one that was written down before outcomes had new words") {
  const test::ScratchFolder folder;
  Store store(folder / "fa.db", Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  store.record_trial(a_trial(run, 1, 80), {}, {{0, "screen", {79, 81}}}, "kernel 1");
  TrialRow failed = a_trial(run, 2, 0);
  failed.stage = "gate";
  failed.outcome = Outcome::failed;
  failed.finding = "wrong";
  failed.screen_time.reset();
  store.record_trial(failed, {}, {}, "kernel 2");
  const auto lines = run_fingerprint_lines(store, run);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] ==
        R"(1 {"template":"mma","BLOCK_M":1} mutate screen right right source1 code1 screen 80)");
  CHECK(lines[1] == R"(2 {"template":"mma","BLOCK_M":2} mutate gate refused wrong source2 code2)");
}

}  // namespace fa_tune::test
