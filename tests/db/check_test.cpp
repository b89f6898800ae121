#include "db/check.hpp"

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "engine/util/hash.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;

namespace {

// Two runs that break no rule: passed, duplicate, final, parents, attempts, words.
void make_sound(const std::filesystem::path& path) {
  Store store(path, Store::Mode::write);
  for (int run = 1; run <= 2; ++run) {
    store.begin_run(a_run());
    std::int64_t parent = 0;
    for (int number = 1; number <= 4; ++number) {
      TrialRow trial = a_trial(run, number, 100 + number);
      const std::string source = "kernel " + std::to_string(10 * run + number);
      trial.source_hash = sha256(source);
      std::vector<SampleRow> samples = {{0, "screen", {99, 101}}};
      if (number == 3) {
        trial.outcome = Outcome::duplicate;
        trial.finding = "duplicate";
        trial.stage = "duplicate_code";
        trial.duplicate_of = parent;
        trial.screen_time.reset();
        samples.clear();
      }
      store.record_attempt(run, number, trial.config_json);
      std::vector<ParentRow> parents;
      if (parent != 0) parents = {{0, parent, 0, "{}"}};
      parent = store.record_trial(trial, parents, samples, source);
    }
    store.record_final(parent, {50, 49, 51}, {50});
    FinalRow raced;
    raced.trial = parent;
    raced.rank_us = 50;
    raced.time = {50, 49, 51};
    raced.samples_us = {50};
    raced.detail_json = "{}";
    FinalRow second = raced;
    second.trial = parent - 3;
    second.place = 2;
    store.record_race({raced, second});
    store.record_proposer_messages(run, {{"sent", "t", "hello"}, {"note", "t", "silent"}});
    store.record_insights(run, {{"effect", 1, true, "words", "{}"}});
    store.record_profile({.trial = parent,
                          .source = "emulator",
                          .version = "l4",
                          .device = "emulator:l4",
                          .device_name = "x",
                          .driver = "",
                          .time_kind = "predicted",
                          .time_us = 50,
                          .limited_by = "l2",
                          .profile_json = R"({"limit":"l2"})",
                          .at = ""});
    store.record_plain_kernel(run, {ScreenTime{{60, 59, 61}}, "{}", ""});
    store.set_run_state(run, "done");
  }
}

}  // namespace

TEST_CASE("what this program writes is found sound, and what is there is counted") {
  const ScratchFolder folder;
  make_sound(folder / "a.db");
  const DatabaseReport report = check_database(folder / "a.db");
  for (const std::string& defect : report.defects) FAIL_CHECK(defect);
  CHECK(report.schema == report.newest_schema);
  CHECK(report.runs == 2);
  CHECK(report.trials == 8);
  CHECK(report.samples == 12);
  CHECK_THROWS_AS(check_database(folder / "no.db"), UserError);
}

TEST_CASE("every rule that is broken is told, and the file stays as it is") {
  // Rows that the schema's own checks and triggers would refuse are planted past them.
  const std::string free = "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; ";
  const std::pair<const char*, const char*> breaks[] = {
      {"UPDATE trials SET number = 9 WHERE id = 4", "run 1: has 4 trials with numbers from 1 to 9"},
      {"UPDATE lineage_edges SET parent = 1 WHERE trial = 6", "trial 6: its parent 1 is of run 1"},
      {"UPDATE lineage_edges SET parent = 4 WHERE trial = 2", "constraint failed in lineage_edges"},
      {"UPDATE trials SET number = 10 - number WHERE run = 1",
       "trial 2: its parent 1 is not older"},
      {"UPDATE lineage_edges SET ordinal = 1 WHERE trial = 2",
       "trial 2: its parents are not numbered"},
      {"UPDATE trials SET outcome = 'failed' WHERE id = 4", "trial 4: is failed and has a final"},
      {"UPDATE trials SET stage = 'final' WHERE id = 2", "trial 2: passed at stage final"},
      {"UPDATE trials SET duplicate_of = 1 WHERE id = 2",
       "trial 2: is passed and a duplicate of 1"},
      {"UPDATE trials SET duplicate_of = NULL WHERE id = 3",
       "trial 3: is duplicate and a duplicate"},
      {"UPDATE trials SET duplicate_of = 3 WHERE id = 7", "trial 7: is a duplicate of 3, which is"},
      {"UPDATE samples SET trial = 2 WHERE trial = 1", "trial 1: has a figure of the screen"},
      {"UPDATE attempts SET attempt = 2 WHERE run = 1 AND number = 2",
       "attempts at trial 2 are not"},
      {"UPDATE attempts SET config = '{}' WHERE run = 2 AND number = 1", "trial 5: was attempted"},
      {"INSERT INTO attempts VALUES (2, 5, 1, '{}', 't')", "run 2: is done and trial 5 was never"},
      {"UPDATE proposer_messages SET seq = 7 WHERE seq = 2 AND run = 1",
       "run 1: what its proposer"},
      {"UPDATE final_races SET place = 1 WHERE trial = 1",
       "run 1: places of race 1 are taken twice"},
      {"UPDATE final_races SET trial = 2 WHERE trial = 1", "trial 2: was raced and has no figure"},
      {"UPDATE insights SET place = 2 WHERE run = 1", "insight effect 2 of run 1"},
      {"UPDATE profiles SET trial = 3 WHERE trial = 4", "trial 3: is duplicate at stage"},
      {"UPDATE profiles SET limited_by = 'tensor' WHERE trial = 4",
       "profile 1: is limited by tensor, in its JSON by l2"},
      {"UPDATE profiles SET source = 'ncu' WHERE trial = 4", "CHECK constraint failed in profiles"},
      {"UPDATE plain_kernels SET message = 'x' WHERE run = 1",
       "CHECK constraint failed in plain_kernels"},
      {"UPDATE sources SET text = 'kernel 99' WHERE text = 'kernel 11'",
       "its text has another hash"},
      {"INSERT INTO bodies VALUES ('b', 'more'); UPDATE sources SET body = 'b' WHERE text = "
       "'kernel 11'",
       "its text has another hash"},
      {"UPDATE trials SET run = 77 WHERE id = 8", "refers to a row of runs that is not there"},
      {"UPDATE trials SET outcome = 'odd' WHERE id = 8", "CHECK constraint failed in trials"},
  };
  for (const auto& [sql, told] : breaks) {
    CAPTURE(sql);
    const ScratchFolder folder(memory_folder());
    make_sound(folder / "a.db");
    change(folder / "a.db", free + sql);
    const DatabaseReport report = check_database(folder / "a.db");
    std::string all;
    for (const std::string& defect : report.defects) all += defect + "\n";
    CAPTURE(all);
    CHECK(has(all, told));
  }
  MESSAGE(std::size(breaks) << " ways to break a database, each told");
}

}  // namespace fa_tune::test
