#include "engine/community/table/write_table.hpp"

#include <doctest/doctest.h>

#include "engine/community/table/recorded_table.hpp"

namespace fa_tune::test {

using namespace fa_tune::community;
using namespace fa_tune::space;

namespace {

RecordedRun a_recorded_run() {
  RecordedRun run;
  run.device = "D \"quoted\"";
  run.kernel = "attention";
  run.problem_size = {1, 64};
  run.facts = {{"time_kind", "predicted"}};
  const auto trial = [&](Config config, std::optional<double> time, Failure failure) {
    const auto n = static_cast<double>(run.trials.size());
    run.trials.push_back({std::move(config), time, {}, 300 + n / 3, 20.25, 7.125, failure, "t"});
  };
  const auto config = [](std::int64_t block, bool swizzled, double scale, const char* kind) {
    return Config(
        {{"BLOCK", block}, {"SWIZZLED", swizzled}, {"SCALE", scale}, {"KIND", std::string(kind)}});
  };
  trial(config(64, true, 0.5, "mma"), 0.123456789012345678, Failure::none);
  trial(config(8, false, 2.0, "mma"), std::nullopt, Failure::compile);
  trial(config(128, false, 0.5, "plain"), std::nullopt, Failure::invalid);
  trial(config(16, true, 0.1, "plain"), std::nullopt, Failure::runtime);
  run.trials[0].samples_ms = {0.1, 0.2};
  return run;
}

// Every trial is found, with the same values, time, cost and failure.
void check_same(const RecordedRun& run, const RecordedTable& table) {
  REQUIRE(table.entries.size() == run.trials.size());
  CHECK_FALSE(table.cut);
  const Space space = table.space();
  for (const RecordedTrial& trial : run.trials) {
    const TableEntry* entry = table.find(space.genome(trial.config));
    REQUIRE(entry != nullptr);
    CHECK(space.config(entry->genome) == trial.config);
    CHECK(entry->time_ms == trial.time_ms);
    CHECK(entry->failure == trial.failure);
    CHECK(entry->cost_ms == trial.compile_ms + trial.verification_ms + trial.benchmark_ms);
  }
}

}  // namespace

TEST_CASE("table: what is written as a cachefile or as T4 is read back the same") {
  RecordedRun run = a_recorded_run();
  const RecordedTable table = parse_table(cachefile_text(run), "x.json");
  check_same(run, table);
  CHECK(table.device == run.device);
  CHECK(table.kernel == "attention");
  CHECK(table.parameters[0].values ==
        std::vector<Value>{std::int64_t{8}, std::int64_t{16}, std::int64_t{64}, std::int64_t{128}});
  // T4 can tell a wrong answer, a cachefile cannot.
  run.trials[3].failure = Failure::wrong;
  check_same(run, parse_table(t4_text(run), "x.json"));
}

TEST_CASE("table: a parameter that some configs lack") {
  RecordedRun run = a_recorded_run();
  run.trials.push_back(
      {Config({{"BLOCK", std::int64_t{32}}}), 1.5, {}, 1, 2, 3, Failure::none, ""});
  for (const std::string& text : {cachefile_text(run), t4_text(run)}) {
    const RecordedTable table = parse_table(text, "x.json");
    REQUIRE(table.entries.size() == 5);
    int found = 0;
    for (const TableEntry& entry : table.entries)
      if (entry.key == "32,None,None,None") {
        ++found;
        CHECK(entry.time_ms == 1.5);
      }
    CHECK(found == 1);
    CHECK(table.space().count() == 5);
  }
}

}  // namespace fa_tune::test
