// What races of finalists leave in the database.

#include <stdexcept>

#include <doctest/doctest.h>

#include "db/check.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;

namespace {

FinalRow a_final(std::int64_t trial, int place, double us) {
  FinalRow row;
  row.trial = trial;
  row.place = place;
  row.tied_first = place <= 2;
  row.rank_us = row.tied_first ? 50 : us;
  row.time = {us, us - 1, us + 1};
  row.samples_us = {us, us};
  row.blocks = 16;
  row.ratio = {us / 50};
  row.ratio.low = row.ratio.value - 0.01;
  row.detail_json = R"({"l2":"warm"})";
  row.cold = FinalTime{us + 9, us + 8, us + 10};
  row.cold_samples_us = {us + 9};
  row.cold_detail_json = R"({"l2":"cold"})";
  return row;
}

struct Raced {
  Raced() : store(folder / "a.db", Store::Mode::write) {
    RunRow row = a_run();
    row.time_kind = "measured";
    run = store.begin_run(row);
    for (int number = 1; number <= 4; ++number) {
      TrialRow trial = a_trial(run, number, 60);
      trial.source_hash.clear();
      store.record_trial(trial, {}, {{0, "screen", {60}}}, "");
    }
  }
  std::vector<std::int64_t> best() const {
    std::vector<std::int64_t> ids;
    for (const TrialRow& trial : store.best({})) ids.push_back(trial.id);
    return ids;
  }

  ScratchFolder folder;
  Store store;
  std::int64_t run = 0;
};

}  // namespace

TEST_CASE("a race is kept with all its figures, and what ties stands in the order of its places") {
  Raced raced;
  // Trial 2 has the lesser time of the two that tie, trial 1 the first place.
  raced.store.record_race({a_final(3, 3, 52), a_final(1, 1, 50.2), a_final(2, 2, 50)});
  CHECK(raced.best() == std::vector<std::int64_t>{1, 2, 3, 4});
  CHECK(ask(raced.folder / "a.db", "SELECT group_concat(trial) FROM best") == "1,2,3,4");
  CHECK(ask(raced.folder / "a.db", "SELECT group_concat(place) FROM best") == "1,2,3,4");
  const auto rows = raced.store.finals(raced.run);
  REQUIRE(rows.size() == 3);
  const FinalRow& row = rows[0];
  CHECK(row.trial == 1);
  CHECK(row.race == 1);
  CHECK(row.place == 1);
  CHECK(row.tied_first);
  CHECK(row.rank_us == 50);
  CHECK(row.time.us.value == 50.2);
  CHECK(row.time.us.high == 51.2);
  CHECK(row.blocks == 16);
  CHECK(known_end(row.ratio.low));
  CHECK_FALSE(known_end(row.ratio.high));
  CHECK(row.detail_json == R"({"l2":"warm"})");
  REQUIRE(row.cold);
  CHECK(row.cold->us.value == 59.2);
  CHECK(row.cold_samples_us == std::vector<double>{59.2});
  CHECK(row.cold_detail_json == R"({"l2":"cold"})");
  CHECK(raced.store.samples(1).back().us == std::vector<double>{50.2, 50.2});
  CHECK(raced.store.trial(1)->final_time->us.value == 50.2);
  CHECK(raced.store.trial(1)->screen_time->us.value == 60);
  for (const std::string& defect : check_database(raced.folder / "a.db").defects)
    FAIL_CHECK(defect);
}

TEST_CASE("a race is kept whole or not at all") {
  Raced raced;
  CHECK_THROWS_AS(raced.store.record_race({a_final(1, 1, 50), a_final(99, 2, 51)}),
                  std::logic_error);
  CHECK(raced.store.finals(raced.run).empty());
  CHECK(raced.store.trial(1)->stage == "screen");
}

TEST_CASE("a later race takes an older one's place, row by row; a trial that fails has no figure") {
  Raced raced;
  raced.store.record_race({a_final(1, 1, 50), a_final(2, 2, 51), a_final(3, 3, 52)});
  FinalRow again = a_final(2, 1, 49);
  again.race = 2;
  FinalRow fourth = a_final(4, 2, 49.5);
  fourth.race = 2;
  fourth.cold.reset();
  raced.store.record_race({again, fourth});
  raced.store.fail_final(3, "wrong", "why");
  const auto rows = raced.store.finals(raced.run);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].trial == 1);
  CHECK(rows[1].trial == 2);
  CHECK(rows[1].race == 2);
  CHECK_FALSE(rows[2].cold);
  CHECK_FALSE(raced.store.trial(3)->final_time);
  CHECK(raced.store.trial(3)->screen_time);
  for (const std::string& defect : check_database(raced.folder / "a.db").defects)
    FAIL_CHECK(defect);
}

}  // namespace fa_tune::test
