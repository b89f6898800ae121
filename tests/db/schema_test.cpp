// Databases of older schemas: read as they are, brought up by who writes, a copy left beside.

#include <SQLiteCpp/Database.h>
#include <doctest/doctest.h>

#include "db/check.hpp"
#include "db/migrate.hpp"
#include "db/migrations.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;

namespace {

std::string schema_of(const std::filesystem::path& path) {
  return ask(path, "PRAGMA user_version");
}
const std::string kNewest = std::to_string(migrations().back().number);

}  // namespace

TEST_CASE("an older schema is read as if it were new, and the file stays as it was") {
  const ScratchFolder folder;
  make_first_schema(folder / "old.db");
  const std::string before = read_file(folder / "old.db");
  {
    Store store(folder / "old.db", Store::Mode::read);
    REQUIRE(store.run(1));
    CHECK(store.run(1)->state == "done");
    REQUIRE(store.trials(1).size() == 1);
    CHECK(store.trials(1)[0].finding == "compile_error");
    CHECK(store.trials(1)[0].outcome == Outcome::failed);
    CHECK(store.insights(1).empty());
    CHECK_FALSE(store.status(1).has_value());
    CHECK(store.proposer_messages(1).empty());
    CHECK_THROWS_AS(store.begin_run(a_run()), UserError);
    CHECK_THROWS_AS(store.set_run_state(1, "interrupted"), UserError);
  }
  CHECK(read_file(folder / "old.db") == before);
  CHECK(check_database(folder / "old.db").schema == 1);
  CHECK(check_database(folder / "old.db").defects.empty());
}

TEST_CASE("migrating brings it up, once, and leaves a copy as it was") {
  const ScratchFolder folder;
  make_first_schema(folder / "old.db");
  const Migrated migrated = migrate_database(folder / "old.db");
  CHECK(migrated.from == 1);
  CHECK(std::to_string(migrated.to) == kNewest);
  CHECK(migrated.copy == folder / "old.db.schema-1");
  CHECK(schema_of(folder / "old.db") == kNewest);
  CHECK(schema_of(migrated.copy) == "1");
  CHECK(ask(migrated.copy, "SELECT count(*) FROM trials") == "1");

  const Migrated again = migrate_database(folder / "old.db");
  CHECK(again.from == again.to);
  CHECK(again.copy.empty());
  Store store(folder / "old.db", Store::Mode::write);
  CHECK(store.trials(1).size() == 1);
  store.record_proposer_messages(1, {{"sent", "2026-01-02T03:04:05Z", "hello"}});
  CHECK(store.proposer_messages(1).size() == 1);
}

TEST_CASE("a writer migrates too, and a copy that is there is not replaced") {
  const ScratchFolder folder;
  make_first_schema(folder / "old.db");
  write_file(folder / "old.db.schema-1", "somebody's");
  { Store store(folder / "old.db", Store::Mode::write); }
  CHECK(schema_of(folder / "old.db") == kNewest);
  CHECK(read_file(folder / "old.db.schema-1") == "somebody's");
  CHECK(schema_of(folder / "old.db.schema-1.2") == "1");
}

TEST_CASE("a table that is made anew keeps its rows, what refers to them, and what a user added") {
  const ScratchFolder folder;
  // As schema 8 had it: a trial that passed and was raced, its duplicate, and one that failed.
  make_first_schema(folder / "old.db");
  std::string later;
  for (const Migration& migration : migrations())
    if (migration.number > 1 && migration.number <= 8) later += migration.sql;
  change(folder / "old.db", later + R"(
    PRAGMA user_version = 8;
    INSERT INTO trials (run, number, config, operation, stage, outcome, finding, message,
      duplicate_of, identity, compile_ms, gate_ms, measure_ms, gate_cases, screen_us, final_us,
      lane, at_ms, finished_at) VALUES
      (1, 2, '{"A":2}', 'random', 'final', 'right', 'right', '', NULL, 'i', 1, 1, 1, 6, 90, 80,
       'cuda:1', 5, '2026-01-01'),
      (1, 3, '{"A":3}', 'mutate', 'duplicate_code', 'duplicate', 'duplicate', '', 2, 'i', 1, 0, 0,
       0, NULL, NULL, NULL, 6, '2026-01-01');
    INSERT INTO lineage_edges VALUES (3, 2, 0, '{}');
    INSERT INTO samples (trial, phase, us) VALUES (2, 'screen', '[90]'), (2, 'final', '[80]');
    INSERT INTO final_races (trial, race, place, tied_first, rank_us, blocks, ratio, detail)
      VALUES (2, 1, 1, 0, 80, 8, 1, '{}');
    CREATE VIEW mine AS SELECT count(*) FROM trials WHERE stage = 'final';
  )");
  for (const std::string& defect : check_database(folder / "old.db").defects) FAIL_CHECK(defect);

  migrate_database(folder / "old.db");
  for (const std::string& defect : check_database(folder / "old.db").defects) FAIL_CHECK(defect);
  const auto told = [&](const std::string& sql) { return ask(folder / "old.db", sql); };
  CHECK(told("SELECT group_concat(number || ' ' || outcome || ' ' || finding) FROM trials") ==
        "1 failed compile_error,2 passed passed,3 duplicate duplicate");
  CHECK(told("SELECT lane || ' ' || at_ms || ' ' || identity FROM trials WHERE id = 2") ==
        "cuda:1 5.0 i");
  CHECK(told("SELECT passed || failed || duplicates FROM runs_summary") == "111");
  CHECK(told("SELECT trial FROM best") == "2");
  CHECK(told("SELECT count FROM failures") == "1");
  CHECK(told("SELECT * FROM mine") == "1");
  // Foreign keys and triggers hold again.
  Store store(folder / "old.db", Store::Mode::write);
  CHECK(store.trials(1)[2].duplicate_of == 2);
  CHECK_THROWS_AS(store.record_final(99, {{1, 1, 1}}, {1}), std::logic_error);
  CHECK_THROWS(change(folder / "old.db", "DELETE FROM trials"));
}

TEST_CASE("after a migration the same connection has its foreign keys") {
  const ScratchFolder folder;
  make_first_schema(folder / "old.db");
  Store store(folder / "old.db", Store::Mode::write);
  // Its parent is no trial.
  CHECK_THROWS_AS(store.record_trial(a_trial(1, 2, 100), {{0, 77, 0, "{}"}}, {}, "kernel"),
                  std::logic_error);
  CHECK(store.trials(1).size() == 1);
}

TEST_CASE("nothing is migrated where the copy cannot be made") {
  const ScratchFolder folder;
  // The copy's name is longer than a file's may be, the database's own is not.
  const auto path = folder / std::string(245, 'a');
  make_first_schema(path);
  const std::string message = message_of<UserError>([&] { migrate_database(path); });
  CHECK(has(message, "cannot be written"));
  CHECK(schema_of(path) == "1");
}

TEST_CASE("a changed schema is refused by who reads, and told by a check") {
  const ScratchFolder folder;
  const auto path = folder / "a.db";
  const std::string endless =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id FROM n";
  for (const auto& [sql, told] :
       {std::pair<std::string, std::string>(
            "CREATE TRIGGER t AFTER INSERT ON trials BEGIN DELETE FROM runs; END",
            "trigger t was added"),
        {"CREATE INDEX mine ON trials (message)", "index mine was added"},
        {"DROP TABLE samples", "table samples is missing"},
        {"ALTER TABLE samples RENAME TO kept; CREATE VIEW samples AS " + endless,
         "table samples is missing"}}) {
    CAPTURE(sql);
    std::filesystem::remove(path);
    { Store(path, Store::Mode::write).begin_run(a_run()); }
    CHECK_NOTHROW(Store(path, Store::Mode::read));
    change(path, sql);
    CHECK(has(message_of<UserError>([&] { Store(path, Store::Mode::read); }), told));
    CHECK(has(message_of<UserError>([&] { Store(path, Store::Mode::write); }), told));
    const auto defects = check_database(path).defects;
    REQUIRE_FALSE(defects.empty());
    CHECK(has(defects.back(), told));
  }
  std::filesystem::remove(path);
  { Store(path, Store::Mode::write).begin_run(a_run()); }
  change(path, "CREATE TABLE mine (x); CREATE VIEW seen AS SELECT id FROM trials");
  CHECK_NOTHROW(Store(path, Store::Mode::read));
  CHECK(check_database(path).defects.empty());
  change(path, "PRAGMA user_version = -5");
  CHECK(has(message_of<UserError>([&] { Store(path, Store::Mode::write); }), "schema -5"));
  CHECK_FALSE(std::filesystem::exists(path.string() + ".schema--5"));
}

TEST_CASE("what is too deep or too long for a row of ours is refused") {
  const ScratchFolder folder;
  const auto path = folder / "a.db";
  { Store(path, Store::Mode::write).begin_run(a_run()); }
  change(path,
         "UPDATE runs SET shape = '{\"n\":' || replace(hex(zeroblob(100)), '00', '[') || "
         "replace(hex(zeroblob(100)), '00', ']') || '}'");
  CHECK(has(message_of<UserError>([&] { (void)Store(path, Store::Mode::read).runs(); }),
            "deeper than 64 levels"));
  change(path, "UPDATE runs SET shape = '{}', compiler = hex(zeroblob(20000000))");
  CHECK(has(message_of<UserError>([&] { (void)Store(path, Store::Mode::read).runs(); }),
            "larger than any"));
}

TEST_CASE("what is no older database of ours is not migrated") {
  const ScratchFolder folder;
  CHECK(
      has(message_of<UserError>([&] { migrate_database(folder / "no.db"); }), "no such database"));
  CHECK_FALSE(std::filesystem::exists(folder / "no.db"));
  write_file(folder / "empty.db", "");
  CHECK(has(message_of<UserError>([&] { migrate_database(folder / "empty.db"); }), "is empty"));
  CHECK(std::filesystem::file_size(folder / "empty.db") == 0);
  change(folder / "other.db", "CREATE TABLE songs (name TEXT)");
  CHECK(has(message_of<UserError>([&] { migrate_database(folder / "other.db"); }),
            "another program"));
  // Marked as ours and no more: what a kill in the midst of making it could never leave.
  change(folder / "marked.db", "PRAGMA application_id = 1717662837");
  CHECK_NOTHROW(Store(folder / "marked.db", Store::Mode::read));
  CHECK(Store(folder / "marked.db", Store::Mode::read).runs().empty());
  CHECK_NOTHROW(Store(folder / "marked.db", Store::Mode::write));
}

}  // namespace fa_tune::test
