#include "engine/tuner/loop/warm_start.hpp"

#include <doctest/doctest.h>

#include "engine/tuner/loop/run_options.hpp"
#include "engine/util/error.hpp"
#include "tests/engine/tuner/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::search;
using namespace fa_tune::tuner;

namespace {

std::int64_t add_run(Store& store, const std::string& problem, const std::string& device,
                     const std::string& shape_json = R"({"B":1})") {
  RunRow run;
  run.space = "l4";
  run.space_hash = l4().space.hash();
  run.space_text = l4().file.text;
  run.problem = problem;
  run.shape_json = shape_json;
  run.device = "cuda:0";
  run.device_name = device;
  run.arch = "sm_89";
  run.target = "l4";
  run.time_kind = "measured";
  run.driver = "1";
  run.compiler = "NVRTC 13.0";
  run.strategy = "random";
  run.options_json = "{}";
  return store.begin_run(run);
}

// `passed` trials that passed, each `us` more than the one before, and one that failed.
void add_trials(Store& store, std::int64_t run, int passed, double us) {
  for (int number = 1; number <= passed + 1; ++number) {
    TrialRow row;
    row.run = run;
    row.number = number;
    row.config_json = l4().space.at(static_cast<std::uint64_t>(number) * 7).to_json();
    row.operation = "random";
    row.stage = number > passed ? "compile" : "screen";
    row.outcome = number > passed ? Outcome::failed : Outcome::passed;
    row.finding = number > passed ? "compile_error" : "passed";
    row.source_hash = std::string(64, 'a');
    if (number <= passed) row.screen_time = ScreenTime{{us * number}};
    store.record_trial(row, {}, {}, "source");
  }
}

}  // namespace

TEST_CASE(
    "runs to learn from: same kind of problem, enough trials that passed, the same device first") {
  test::ScratchFolder folder;
  Store store(folder.path() / "a.db", Store::Mode::write);
  CHECK(choose_prior_runs(store, l4(), "NVIDIA L4").empty());
  add_trials(store, add_run(store, "attention", "NVIDIA L4"), 20, 1);  // 1
  add_trials(store, add_run(store, "attention", "other"), 12, 2);      // 2
  add_trials(store, add_run(store, "matmul", "NVIDIA L4"), 20, 3);     // 3
  add_trials(store, add_run(store, "attention", "NVIDIA L4"), 5, 4);   // 4

  const auto choices = choose_prior_runs(store, l4(), "NVIDIA L4");
  REQUIRE(choices.size() == 2);
  CHECK(choices[0].run == 1);
  CHECK(choices[0].trials == 21);
  CHECK(choices[0].title == R"(run 1: NVIDIA L4, {"B":1})");
  CHECK(choices[1].run == 2);

  const auto runs = load_prior_runs(store, l4(), choices);
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].trials.size() == 20);
  CHECK(*runs[1].trials[2].time_us == 6);
  CHECK(runs[1].trials[2].passed);

  CHECK(choose_prior_runs(store, l4(), 2).run == 2);
  CHECK_THROWS_WITH_AS(choose_prior_runs(store, l4(), std::int64_t{9}),
                       "there is no run 9 to learn from in this database", UserError);
  CHECK_THROWS_WITH_AS(
      choose_prior_runs(store, l4(), std::int64_t{4}),
      "run 4 teaches nothing here: fewer than 8 of its trials that passed are valid "
      "configs of this space",
      UserError);
}

TEST_CASE("runs to learn from: the nearest by their work, and none far away") {
  test::ScratchFolder folder;
  Store store(folder.path() / "a.db", Store::Mode::write);
  const auto add = [&](std::int64_t length) {
    Constants shape = l4().problem->shape();
    shape["Lq"] = shape["Lk"] = length;
    const std::int64_t run = add_run(store, "attention", "NVIDIA L4", to_json(shape));
    add_trials(store, run, 20, 1);
    return run;
  };
  const auto same = add(512), half = add(256), tiny = add(32), twice = add(1024), far = add(4096);
  std::vector<std::int64_t> chosen;
  for (const PriorRun& choice : choose_prior_runs(store, l4(), "NVIDIA L4"))
    chosen.push_back(choice.run);
  // Of two as near the newer.
  CHECK(chosen == std::vector{same, twice, half});
  CHECK(choose_prior_runs(store, l4(), tiny).run == tiny);  // who names one has it
  CHECK(choose_prior_runs(store, l4(), far).run == far);
}

TEST_CASE("what the database names for the same problem, shape and device is taken along") {
  test::ScratchFolder folder;
  Store store(folder.path() / "a.db", Store::Mode::write);
  const std::string here = to_json(l4().problem->shape());
  for (const int us : {5, 4, 3, 2}) {
    const std::int64_t run = add_run(store, "attention", "NVIDIA L4", here);
    add_trials(store, run, 20, us);
  }
  add_trials(store, add_run(store, "attention", "other", here), 20, 1);
  // Nobody compared the runs, so the oldest is what holds, although three others are as near.
  const auto choices = choose_prior_runs(store, l4(), "NVIDIA L4");
  REQUIRE(choices.size() == 3);
  CHECK(choices[0].run == 1);
  CHECK(choices[0].pick == 1);
  CHECK(choices[1].run == 4);
  CHECK(choices[1].pick == 0);
  const auto runs = load_prior_runs(store, l4(), choices);
  CHECK(runs[0].pick->to_json() == store.trial(1, 1)->config_json);
  CHECK_FALSE(runs[1].pick);
  CHECK(choose_prior_runs(store, l4(), "third")[0].pick == 0);
}

TEST_CASE("what a run learned from is kept with it, and trials made later do not count") {
  test::ScratchFolder folder;
  Store store(folder.path() / "a.db", Store::Mode::write);
  const std::int64_t run = add_run(store, "attention", "NVIDIA L4");
  add_trials(store, run, 20, 1);
  RunRow later;
  later.options_json = R"({"earlier":)" + to_json({{run, 10, ""}, {run, 9, "", 7}}) + "}";
  CHECK(later.options_json ==
        R"({"earlier":[{"run":1,"trials":10},{"run":1,"trials":9,"pick":7}]})");
  const auto kept = prior_runs_of(later);
  REQUIRE(kept.size() == 2);
  CHECK(kept[0].run == run);
  CHECK(kept[0].trials == 10);
  CHECK(kept[0].pick == 0);
  CHECK(kept[1].pick == 7);
  CHECK(earlier_pick(store, later)->to_json() == store.trial(run, 7)->config_json);
  CHECK(load_prior_runs(store, l4(), kept)[0].trials.size() == 10);
  later.options_json = "{}";
  CHECK(prior_runs_of(later).empty());
  CHECK_FALSE(earlier_pick(store, later));
}

TEST_CASE("what a run learned from stays what it was, whatever finals say of it later") {
  test::ScratchFolder folder;
  Store store(folder.path() / "a.db", Store::Mode::write);
  const std::int64_t run = add_run(store, "attention", "NVIDIA L4");
  add_trials(store, run, 20, 1);
  const std::vector<PriorRun> choices = {choose_prior_runs(store, l4(), run)};
  const auto told = [&] {
    std::vector<std::pair<std::string, double>> trials;
    const auto runs = load_prior_runs(store, l4(), choices);
    for (const Evaluation& trial : runs[0].trials)
      trials.emplace_back(trial.config.to_json(), *trial.time_us);
    return trials;
  };
  const auto before = told();
  REQUIRE(before.size() == 20);
  const auto trials = store.trials(run);
  store.record_final(trials[1].id, {1.5, 1.4, 1.6}, {1.5});
  store.fail_final(trials[0].id, "race", "found in the finals");
  CHECK(told() == before);
}

TEST_CASE("that a run was to hear of no other is kept with it") {
  RunRow old;
  old.options_json = "{}";
  CHECK(is_warm(old));
  EvolveOptions options;
  CHECK(is_warm(describe_run(l4(), {"cuda:0"}, {}, "NVRTC", options)));
  options.warm = false;
  CHECK_FALSE(is_warm(describe_run(l4(), {"cuda:0"}, {}, "NVRTC", options)));
}

}  // namespace fa_tune::test
