#include "engine/report/prediction.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/report/best.hpp"
#include "engine/report/show.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::report;

namespace {

constexpr const char* kWords = "90% interval: as the test has it";

// Of mma.sync: 0.9 to 1.2 times, and told apart from 1.15 times on.
db::TrialRow predicted_trial(std::int64_t run, std::int64_t number, double us,
                             const std::string& kind = "mma.sync", double least = 0.9,
                             double most = 1.2) {
  db::TrialRow trial = a_trial(run, number, us);
  trial.id = number;
  trial.screen_time = db::ScreenTime{{us, us * least, us * most}};
  trial.detail_json = fmt::format(
      R"({{"us":{0},"interval":{{"rests_on":"{1}","kind":"{2}","error":[{3},{4}],"apart":1.15}}}})",
      us, kWords, kind, least, most);
  return trial;
}

using Trials = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("kernels of a kind tie with the best below the recorded ratio") {
  std::vector<db::TrialRow> trials;
  for (const double us : {11.4, 10.0, 11.6, 10.5, 10.5}) {
    trials.push_back(predicted_trial(1, static_cast<std::int64_t>(trials.size()) + 1, us));
  }
  trials[3].outcome = Outcome::failed;
  const auto ties = predicted_ties(trials[1], trials);
  REQUIRE(ties.has_value());
  CHECK(ties->ratio == 1.15);
  CHECK(ties->of_kind == Trials{5, 1});  // the fastest first
  CHECK(ties->others.empty());
  CHECK(ties_text(*ties) ==
        "2 more within 1.15 times its time: the model does not tell them apart (trials 5, 1)");
}

TEST_CASE("of another kind those tie whose interval overlaps") {
  // The model is known to give these 1.1 to 2 times too much: 30 us may be 15.
  const std::vector<db::TrialRow> trials = {predicted_trial(1, 1, 10),
                                            predicted_trial(1, 2, 23, "no tensor cores", 0.5, 0.9),
                                            predicted_trial(1, 3, 25, "no tensor cores", 0.5, 0.9)};
  const auto ties = predicted_ties(trials[0], trials);
  REQUIRE(ties.has_value());
  CHECK(ties->of_kind.empty());
  CHECK(ties->others == Trials{2});
  CHECK(ties_text(*ties) ==
        "no other within 1.15 times its time, from where on the model tells two apart; nor 1 of "
        "another kind of kernel (trial 2)");
}

TEST_CASE("many ties are named by the first of them") {
  std::vector<db::TrialRow> trials;
  for (int i = 1; i <= 9; ++i) trials.push_back(predicted_trial(1, i, 10 + i * 0.1));
  const auto ties = predicted_ties(trials[0], trials);
  REQUIRE(ties.has_value());
  CHECK(ties_text(*ties) ==
        "8 more within 1.15 times its time: the model does not tell them apart (trials 2, 3, 4, "
        "...)");
  CHECK(prediction_json(trials[0], ties).at("not_told_apart").size() == 8);
}

TEST_CASE("a measured time has neither ties nor a sentence, nor has an older prediction") {
  for (const char* detail : {"", "{\"samples\":25}", "{\"us\":10}", "[]"}) {
    db::TrialRow trial = a_trial(1, 1, 10);
    trial.detail_json = detail;
    CHECK_FALSE(predicted_ties(trial, {trial}).has_value());
    CHECK(interval_rests_on(trial) == "");
    CHECK(prediction_json(trial, std::nullopt).is_null());
  }
}

TEST_CASE("best and show tell a predicted time's interval, what it rests on and what ties") {
  const ScratchFolder folder;
  db::Store store(folder / "fa.db", db::Store::Mode::write);
  db::RunRow run = a_run();
  run.time_kind = "predicted";
  const std::int64_t id = store.begin_run(run);
  for (int i = 1; i <= 3; ++i)
    store.record_trial(predicted_trial(id, i, 10 * i), {}, {{0, "screen", {10.0 * i}}}, "text");
  store.record_trial(predicted_trial(id, 4, 11), {}, {{0, "screen", {11.0}}}, "text");
  db::TrialFilter filter;
  filter.limit = 2;
  const auto trials = best_trials(store, filter);
  const std::string table = best_table(trials);
  CHECK(has(table, "9.00 .. 12.00"));
  CHECK(has(table, std::string(kWords) + "\n"));
  CHECK(has(table, "trial 1: 1 more within 1.15 times its time"));
  const auto json = nlohmann::json::parse(best_json(trials));
  CHECK(json.at(0).at("time_us").at("low") == 9.0);
  CHECK(json.at(0).at("prediction") ==
        nlohmann::json{{"rests_on", kWords}, {"told_apart_from", 1.15}, {"not_told_apart", {4}}});
  CHECK(json.at(1).at("prediction").at("told_apart_from").is_null());
  const std::string page = show_text(store, 1);
  CHECK(has(page, "10.00 us, interval 9.00 .. 12.00"));
  CHECK(has(page, kWords));
  CHECK_FALSE(has(page, "\"kind\""));
}

}  // namespace fa_tune::test
