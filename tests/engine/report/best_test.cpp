#include "engine/report/best.hpp"

#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/report/show.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::report;

namespace {

void fill(Store& store) {
  const std::int64_t run = store.begin_run(a_run());
  store.record_trial(a_trial(run, 1, 100), {}, {}, "kernel 1");
  store.record_trial(a_trial(run, 2, 80.5), {}, {}, "kernel 2");
  RunRow other = a_run();
  other.space = "my \"own\", space";
  other.seed = 7;
  store.record_trial(a_trial(store.begin_run(other), 1, 90), {}, {}, "kernel 1");
}

}  // namespace

TEST_CASE("best as a table: one for each context, fastest first") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  CHECK(best_table(best_trials(store, {})) == "No trial that passed, with a time, matches.\n");
  fill(store);
  CHECK(
      best_table(best_trials(store, {})) ==
      R"(l4: attention B=1 D=64 H=8 Lq=512 causal=true on emulator of NVIDIA L4 (emulator:l4, sm_89),
predicted times
trial  run  predicted us         interval  stage   registers  spilled  config
    2    1         80.50   79.69 .. 81.31  screen         96        0  mma BLOCK_M=2
    1    1        100.00  99.00 .. 101.00  screen         96        0  mma BLOCK_M=1

my "own", space: attention B=1 D=64 H=8 Lq=512 causal=true on emulator of NVIDIA L4 (emulator:l4,
sm_89), predicted times
trial  run  predicted us        interval  stage   registers  spilled  config
    3    2         90.00  89.10 .. 90.90  screen         96        0  mma BLOCK_M=1
)");
}

TEST_CASE("best and show put a trial beside the plain kernel of its run, by screens at one clock") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  fill(store);
  store.record_final(2, {70, 69, 71}, {70});
  store.record_plain_kernel(1, {ScreenTime{{161, 160, 162}}, "{}", ""});
  const std::string words = "2.00x the plain kernel, which takes 161.00 us predicted";
  CHECK(has(best_table(best_trials(store, {})), "\ntrial 2: " + words + "\n"));
  CHECK_FALSE(has(best_table(best_trials(store, {})), "trial 3:"));
  CHECK(has(show_text(store, 2, std::nullopt), words));
  const auto best = nlohmann::json::parse(best_json(best_trials(store, {})));
  CHECK(best[0]["plain_us"]["median"] == 161);
  CHECK(best[1]["plain_us"].is_null());

  TrialRow trial = a_trial(1, 1, 10);
  trial.detail_json = R"({"kilocycles":20})";                                        // 2000 MHz
  const PlainKernelRow plain{ScreenTime{{30, 30, 30}}, R"({"kilocycles":30})", ""};  // 1000 MHz
  CHECK(times_as_fast(trial, plain).value() == doctest::Approx(1.5));

  store.record_plain_kernel(2, {std::nullopt, "", "it keeps state"});
  CHECK(has(best_table(best_trials(store, {})),
            "\ntrial 3: the plain kernel was not timed: it keeps state\n"));
}

TEST_CASE("best tells a person what the gate of a trial did not look at") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  for (int number = 1; number <= 3; ++number) {
    TrialRow trial = a_trial(run, number, 80);
    trial.outcome = Outcome::passed;
    trial.finding = "passed";
    trial.stage = "screen";
    trial.message = number == 2 ? "" : "not gated at the timed size";
    store.record_trial(trial, {}, {}, "kernel");
  }
  CHECK(best_table(best_trials(store, {})).ends_with("trials 1, 3: not gated at the timed size\n"));
  store.record_final(1, {80, 79, 81}, {80});
  CHECK(best_table(best_trials(store, {})).ends_with("trial 3: not gated at the timed size\n"));
}

TEST_CASE("the stable pick is the same in whatever order a run found what ties") {
  struct Found {
    int registers;
    int shared_bytes;
    const char* config;
    double us;
  };
  const std::vector<Found> kernels = {{96, 1024, R"({"A":64,"B":2})", 80},
                                      {96, 1024, R"({"A":64,"B":1})", 80},
                                      {96, 2048, R"({"A":8,"B":1})", 80},
                                      {128, 0, R"({"A":8,"B":2})", 80},
                                      {16, 0, R"({"A":4,"B":1})", 80.5}};
  std::vector<std::size_t> order = {0, 1, 2, 3, 4};
  for (int turn = 0; turn < 5; ++turn) {
    const ScratchFolder folder;
    Store store(folder / "a.db", Store::Mode::write);
    const std::int64_t run = store.begin_run(a_run());
    std::int64_t number = 0;
    for (const std::size_t i : order) {
      TrialRow trial = a_trial(run, ++number, kernels[i].us);
      trial.registers = kernels[i].registers;
      trial.static_shared_bytes = 0;
      trial.dynamic_shared_bytes = kernels[i].shared_bytes;
      trial.config_json = kernels[i].config;
      store.record_trial(trial, {}, {}, fmt::format("kernel {}", i));
    }
    const auto pick = stable_pick(best_trials(store, {}));
    REQUIRE(pick.size() == 1);
    CHECK(pick.front().trial.config_json == R"({"A":64,"B":1})");
    std::ranges::rotate(order, order.begin() + 1);
  }
  CHECK(stable_pick({}).empty());
}

TEST_CASE("best as JSON: exactly the documented keys, with their types") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  CHECK(best_json(best_trials(store, {})) == "[]\n");
  fill(store);
  TrialFilter filter;
  filter.limit = 1;
  const auto json = nlohmann::json::parse(best_json(best_trials(store, filter)));
  const auto expected = nlohmann::json::parse(R"([{"trial":2,"space":"l4","device":"emulator:l4",
    "arch":"sm_89","config":{"template":"mma","BLOCK_M":2},
    "time_us":{"median":80.5,"low":79.695,"high":81.305,"kind":"predicted"},
    "verdict":"passed","source_hash":"source2","run":1,"seed":18446744073709551615,"final":null,
    "plain_us":null,"prediction":null}])");
  CHECK(json == expected);
}

TEST_CASE("best as CSV: quotes and commas run_with_retry") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  fill(store);
  CHECK(best_csv(best_trials(store, {})) ==
        "trial,space,device,arch,config,time_us_median,time_us_low,time_us_high,time_kind,verdict,"
        "source_hash,run,seed\n"
        "2,l4,emulator:l4,sm_89,\"{\"\"template\"\":\"\"mma\"\",\"\"BLOCK_M\"\":2}\",80.5,79.695,"
        "81.305,predicted,passed,source2,1,18446744073709551615\n"
        "3,\"my \"\"own\"\", space\",emulator:l4,sm_89,\"{\"\"template\"\":\"\"mma\"\","
        "\"\"BLOCK_M\"\":1}\",90,89.1,90.9,predicted,passed,source1,2,7\n"
        "1,l4,emulator:l4,sm_89,\"{\"\"template\"\":\"\"mma\"\",\"\"BLOCK_M\"\":1}\",100,99,101,"
        "predicted,passed,source1,1,18446744073709551615\n");
}

TEST_CASE("of what was raced, best and show tell who ties, and a cold cache's time apart") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  RunRow row = a_run();
  row.time_kind = "measured";
  const std::int64_t run = store.begin_run(row);
  std::vector<FinalRow> finals;
  for (int number = 1; number <= 3; ++number) {
    store.record_trial(a_trial(run, number, 60), {}, {}, "kernel");
    FinalRow final_row;
    final_row.trial = number;
    final_row.place = number;
    final_row.tied_first = number <= 2;
    final_row.rank_us = final_row.tied_first ? 50 : 52;
    final_row.time = {final_row.rank_us, 49, 53};
    final_row.ratio = {final_row.rank_us / 50, number == 3 ? 1.03 : 0.99, 1.05};
    final_row.blocks = 16;
    final_row.detail_json = R"({"samples":48,"sm_mhz":{"median":1755}})";
    final_row.cold = FinalTime{61.5, 61, 62};
    final_row.cold_samples_us = {61.5};
    final_row.cold_detail_json = R"({"l2":"cold"})";
    finals.push_back(final_row);
  }
  store.record_race(finals);
  const auto trials = best_trials(store, {});
  const std::string table = best_table(trials);
  CHECK(table.find("50.00  49.00 .. 53.00  final, tied") != std::string::npos);
  const auto json = nlohmann::json::parse(best_json(trials));
  CHECK(json[0]["time_us"]["median"] == 50);
  CHECK(json[0]["final"]["tied_with"] == std::vector<int>{2});
  CHECK(json[0]["final"]["of"] == 3);
  CHECK(json[0]["final"]["cold_us"]["median"] == 61.5);
  CHECK(json[0]["final"]["detail"]["sm_mhz"]["median"] == 1755);
  CHECK(json[2]["final"]["tied_with"].empty());
  CHECK(json[2]["final"]["ratio"]["low"] == 1.03);
  const std::string page = show_text(store, 1);
  CHECK(page.find("1 of 3: tied with 1 other (trial 2)") != std::string::npos);
  CHECK(page.find("61.50 us, interval 61.00 .. 62.00, of 1 launches, each after a flush") !=
        std::string::npos);
  CHECK(show_text(store, 2).find("2 of 3: tied with 1 other (trial 1)") != std::string::npos);
  CHECK(show_text(store, 3).find("3 of 3: 1.0400 times the fastest's time [1.0300, 1.0500]") !=
        std::string::npos);
}

}  // namespace fa_tune::test
