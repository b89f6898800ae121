#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;

namespace {

std::vector<std::int64_t> ids(const std::vector<TrialRow>& trials) {
  std::vector<std::int64_t> list;
  for (const TrialRow& trial : trials) list.push_back(trial.id);
  return list;
}

using Ids = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("best: finals first, then screens, each fastest first; failed ones never") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  const auto slow = store.record_trial(a_trial(run, 1, 100), {}, {}, "1");
  const auto fast = store.record_trial(a_trial(run, 2, 80), {}, {}, "2");
  TrialRow wrong = a_trial(run, 3, 10);
  wrong.outcome = Outcome::failed;
  store.record_trial(wrong, {}, {}, "3");
  TrialRow lean = a_trial(run, 4, 100);
  lean.registers = 64;
  const auto fewer = store.record_trial(lean, {}, {}, "4");
  CHECK(ids(store.best({})) == Ids{fast, fewer, slow});
  store.record_final(slow, {101, 100, 102}, {101});
  CHECK(ids(store.best({})) == Ids{slow, fast, fewer});
  TrialFilter filter;
  filter.limit = 1;
  CHECK(ids(store.best(filter)) == Ids{slow});
  filter.limit = -1;
  CHECK(store.best(filter).size() == 3);
  CHECK(ask(folder / "a.db", "SELECT group_concat(trial) FROM best") == "1,2,4");
  CHECK(ask(folder / "a.db", "SELECT predicted_us FROM best WHERE place = 1") == "101.0");
  CHECK(ask(folder / "a.db", "SELECT measured_us IS NULL FROM best WHERE place = 1") == "1");
}

TEST_CASE("best: every filter, and measured and predicted never in one list") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t predicted = store.begin_run(a_run());
  RunRow other = a_run();
  other.time_kind = "measured";
  other.device = "cuda:0";
  other.device_name = "NVIDIA L4";
  other.space = "h100";
  other.shape_json = R"({"B":2,"D":128,"H":8,"Lq":512,"causal":false})";
  const std::int64_t measured = store.begin_run(other);
  const auto emulated = store.record_trial(a_trial(predicted, 1, 10), {}, {}, "1");
  const auto timed = store.record_trial(a_trial(measured, 1, 90), {}, {}, "1");

  TrialFilter filter;
  CHECK(ids(store.best(filter)) == Ids{timed});
  filter.time_kind = "predicted";
  CHECK(ids(store.best(filter)) == Ids{emulated});
  filter = {};
  filter.run = predicted;
  CHECK(ids(store.best(filter)) == Ids{emulated});
  filter = {};
  filter.space = "l4";
  CHECK(ids(store.best(filter)) == Ids{emulated});
  filter.space = "absent";
  CHECK(store.best(filter).empty());
  filter = {};
  filter.device = "emulator:l4";
  CHECK(ids(store.best(filter)) == Ids{emulated});
  filter.device = "NVIDIA L4";
  CHECK(ids(store.best(filter)) == Ids{timed});
  filter = {};
  filter.shape_json = R"({"D":64,"causal":true})";
  CHECK(ids(store.best(filter)) == Ids{emulated});
  filter.shape_json = R"({"H":8,"Lq":512})";
  CHECK(ids(store.best(filter)) == Ids{timed});
  filter.shape_json = R"({"D":128,"B":1})";
  CHECK(store.best(filter).empty());
  filter.shape_json = R"({"unknown":1})";
  CHECK(store.best(filter).empty());
  filter.shape_json = "D=64";
  CHECK(has(message_of<UserError>([&] { (void)store.best(filter); }), "expected a JSON object"));

  CHECK(ask(folder / "a.db", "SELECT count(*) FROM best WHERE place = 1") == "2");
}

TEST_CASE("views answer how a step paid and how a run went") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  const auto parent = store.record_trial(a_trial(run, 1, 100), {}, {}, "1");
  store.record_trial(a_trial(run, 2, 80), {{0, parent, 0, R"({"BLOCK_M":[1,2]})"}}, {}, "2");
  CHECK(ask(folder / "a.db", "SELECT gain_percent FROM lineage") == "20.0");
  CHECK(ask(folder / "a.db",
            "SELECT trials || ' ' || passed || ' ' || best_us FROM "
            "runs_summary") == "2 2 80.0");
  store.begin_run(a_run());
  CHECK(ask(folder / "a.db", "SELECT trials || ' ' || failed FROM runs_summary WHERE run = 2") ==
        "0 0");
}

}  // namespace fa_tune::test
