#include "db/merge.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "db/check.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;

namespace {

const std::atomic<bool> kNever{false};

// Runs of `trials` each, of which the second of each pair has the first as its parent.
void fill(const std::filesystem::path& path, int runs, int trials, const std::string& kernel) {
  Store store(path, Store::Mode::write);
  for (int i = 0; i < runs; ++i) {
    RunRow row = a_run();
    if (i > 0) row.options_json = R"({"earlier":[{"run":1,"trials":2}],"trials":9})";
    const std::int64_t run = store.begin_run(row);
    std::int64_t before = 0;
    for (int number = 1; number <= trials; ++number) {
      TrialRow trial = a_trial(run, number, 100 + number);
      if (number == trials) trial.message = "as in trial 1: it ended its process";
      std::vector<ParentRow> parents;
      if (before != 0 && number % 2 == 0) parents.push_back({0, before, 0, R"({"X":[1,2]})"});
      before = store.record_trial(trial, parents, {{0, "screen", {100, 101}}},
                                  kernel + std::to_string(number));
    }
    store.set_run_state(run, "done");
  }
}

// Of the merged one, whatever they are called.
std::size_t files_made(const ScratchFolder& folder) {
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder.path()))
    count += file.path().filename().string().starts_with("c.db");
  return count;
}

}  // namespace

TEST_CASE("merged databases have all rows of both, and all that names them") {
  const ScratchFolder folder;
  const auto a = folder / "a.db", b = folder / "b.db", c = folder / "c.db";
  fill(a, 2, 3, "kernel ");
  fill(b, 3, 4, "kernel ");
  const std::string before_a = read_file(a), before_b = read_file(b);
  const auto merged = merge_databases(a, b, c, kNever);
  REQUIRE(merged.has_value());
  CHECK(merged->runs == 5);
  CHECK(merged->trials == 18);
  CHECK(merged->runs_before == 2);
  CHECK(merged->trials_before == 6);
  CHECK(read_file(a) == before_a);
  CHECK(read_file(b) == before_b);
  // These sources have made-up hashes, and nothing else is wrong.
  CHECK(check_database(c).defects == check_database(b).defects);

  const Store whole(c, Store::Mode::read);
  const Store second(b, Store::Mode::read);
  for (std::int64_t run = 1; run <= 3; ++run) {
    const auto was = second.trials(run);
    const auto is = whole.trials(run + 2);
    REQUIRE(was.size() == is.size());
    for (std::size_t i = 0; i < was.size(); ++i) {
      CHECK(is[i].id == was[i].id + 6);
      CHECK(is[i].number == was[i].number);
      CHECK(is[i].config_json == was[i].config_json);
      CHECK(is[i].source_hash == was[i].source_hash);
      const auto parents = second.parents(was[i].id);
      const auto now = whole.parents(is[i].id);
      REQUIRE(parents.size() == now.size());
      for (std::size_t p = 0; p < parents.size(); ++p) {
        CHECK(now[p].parent == parents[p].parent + 6);
        CHECK(now[p].genes_json == parents[p].genes_json);
      }
    }
    CHECK(is.back().message == "as in trial 7: it ended its process");
  }
  CHECK(nlohmann::json::parse(whole.run(4)->options_json)["earlier"][0]["run"] == 3);
  CHECK(nlohmann::json::parse(whole.run(2)->options_json)["earlier"][0]["run"] == 1);
  // What both have stands once.
  CHECK(ask(c, "SELECT count(*) FROM spaces") == "1");
  CHECK(ask(c, "SELECT count(*) FROM devices") == "1");
  CHECK(ask(c, "SELECT count(*) FROM sources") == "4");
  CHECK(ask(c, "SELECT count(*) FROM samples") == "18");
  CHECK(ask(c, "SELECT count(DISTINCT id) FROM samples") == "18");

  // Work goes on in it, and it can be merged once more.
  {
    Store open(c, Store::Mode::write);
    CHECK(open.begin_run(a_run()) == 6);
  }
  CHECK(merge_databases(c, a, folder / "d.db", kNever)->runs == 8);
}

TEST_CASE("a merge is whole or nothing, and nothing is lost for it") {
  const ScratchFolder folder;
  const auto a = folder / "a.db", b = folder / "b.db";
  fill(a, 1, 2, "kernel ");
  fill(b, 1, 2, "other ");
  const std::atomic<bool> stop{true};
  CHECK_FALSE(merge_databases(a, b, folder / "c.db", stop).has_value());
  CHECK(files_made(folder) == 0);
  CHECK(has(message_of<UserError>([&] { (void)merge_databases(a, b, b, kNever); }),
            "b.db: is there already"));
  CHECK_THROWS_AS((void)merge_databases(a, folder / "none.db", folder / "c.db", kNever), UserError);
  make_first_schema(folder / "old.db");
  const std::string refusal = message_of<UserError>(
      [&] { (void)merge_databases(a, folder / "old.db", folder / "c.db", kNever); });
  CHECK(has(refusal, "old.db: has schema 1, and databases of schema"));
  CHECK(has(refusal, "'fa-tune db migrate'"));
  CHECK(refusal.find('\n') == std::string::npos);
  CHECK(files_made(folder) == 0);
  // A user's own table stays the first one's.
  change(a, "CREATE TABLE notes (text TEXT)");
  change(b, "CREATE TABLE others (text TEXT)");
  CHECK(merge_databases(a, b, folder / "c.db", kNever)->trials == 4);
  CHECK(ask(folder / "c.db",
            "SELECT count(*) FROM sqlite_schema WHERE name IN ('notes', 'others')") == "1");
}

}  // namespace fa_tune::test
