#include "engine/report/failures.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::report;

namespace {

void fail(Store& store, std::int64_t number, const std::string& stage, const std::string& finding,
          const std::string& message) {
  TrialRow trial = a_trial(1, number, 0);
  trial.outcome = Outcome::failed;
  trial.stage = stage;
  trial.finding = finding;
  trial.message = message;
  trial.screen_time.reset();
  store.record_trial(trial, {}, {}, "kernel " + std::to_string(number));
}

}  // namespace

TEST_CASE("failures: the commonest reason first, shown by what most of its trials say") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  REQUIRE(run == 1);
  CHECK(failure_groups(store.trials(run)).empty());
  CHECK(common_failures(*store.run(run), 0, {}, "a.db").empty());

  store.record_trial(a_trial(run, 1, 100), {}, {}, "kernel 1");
  fail(store, 2, "gate", "wrong", "y[7] = 0.5, expected 2");
  fail(store, 3, "compile", "compile_error", "k.cu(3): something rare");
  fail(store, 4, "compile", "compile_error", "k.cu(12): `FOO` is undefined");
  fail(store, 5, "compile", "compile_error", "k.cu(134): `FOO` is undefined");
  fail(store, 6, "resources", "spill", "spills 16 bytes\x1b[31m");

  const auto groups = failure_groups(store.trials(run));
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].finding == "compile_error");
  CHECK(groups[0].count == 3);
  CHECK(groups[0].example == 4);
  CHECK(groups[0].message == "k.cu(12): `FOO` is undefined");
  CHECK(groups[1].finding == "wrong");  // of equally many, by stage
  CHECK(groups[2].finding == "spill");

  CHECK(common_failures(*store.run(run), 6, groups, "a.db") == R"(
5 of 6 trials failed, most of them for these reasons:
      3 at compile  compile_error, as trial 4: k.cu(12): `FOO` is undefined
      1 at gate     wrong, as trial 2: y[7] = 0.5, expected 2
  all reasons: fa-tune failures --run 1 --db a.db
)");
  // A long name of a stage has its space too.
  const auto alone = std::vector{groups[2]};
  CHECK(
      common_failures(*store.run(run), 6, alone, "a.db").find(" at resources  spill, as trial 6") !=
      std::string::npos);
  CHECK(
      failures_text(*store.run(run), 6, groups, "a.db") ==
      R"(run 1, l4: attention B=1 D=64 H=8 Lq=512 causal=true on emulator of NVIDIA L4 (emulator:l4, sm_89),
predicted times
5 of 6 trials failed

count  stage      finding        trial  message of that trial
    3  compile    compile_error      4  k.cu(12): `FOO` is undefined
    1  gate       wrong              2  y[7] = 0.5, expected 2
    1  resources  spill              6  spills 16 bytes?[31m

All about one of them: fa-tune show 4 --db a.db
)");
  const auto json = nlohmann::json::parse(failures_json(*store.run(run), 6, groups));
  CHECK(json["failed"] == 5);
  CHECK(json["reasons"][0]["example"] == 4);
}

}  // namespace fa_tune::test
