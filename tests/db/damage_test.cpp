#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/failure.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/random.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;

namespace {

constexpr const char* kSource = "__global__ void k() {}";

// Two samples series, one parent: what a whole trial has.
void record_whole(Store& store, std::int64_t run, std::int64_t number, std::int64_t parent) {
  std::vector<ParentRow> parents;
  if (parent != 0) parents.push_back({0, parent, 0, "{}"});
  store.record_trial(a_trial(run, number, 50), parents,
                     {{0, "screen", std::vector<double>(100, 50.5)}, {0, "screen", {1, 2}}},
                     kSource + std::to_string(number));
}

[[noreturn]] void write_until_killed(const std::filesystem::path& path, int ready) {
  Store store(path, Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  [[maybe_unused]] const auto told = write(ready, "r", 1);
  std::int64_t parent = 0;
  for (std::int64_t number = 1;; ++number) {
    const std::string config = a_trial(run, number, 50).config_json;
    store.record_attempt(run, number, config);
    record_whole(store, run, number, parent);
    parent = store.trial(run, number)->id;
  }
}

}  // namespace

TEST_CASE("killed at any moment, a database is sound and every trial in it is whole") {
  const ScratchFolder folder;
  const auto path = folder / "a.db";
  Random random(11);
  for (int round = 0; round < 20; ++round) {
    int ready[2];
    REQUIRE(pipe(ready) == 0);
    const pid_t child = fork();
    if (child == 0) write_until_killed(path, ready[1]);
    close(ready[1]);
    char byte = 0;
    // The first rounds hit the creation of the file, the others the writing of trials.
    if (round >= 4) CHECK(read(ready[0], &byte, 1) == 1);
    usleep(static_cast<useconds_t>(random.below(round < 4 ? 4000 : 60'000)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(ready[0]);

    const Store store(path, Store::Mode::write);
    CHECK(ask(path, "PRAGMA integrity_check") == "ok");
    CHECK(ask(path, "SELECT count(*) FROM pragma_foreign_key_check") == "0");
    CHECK(ask(path,
              "SELECT count(*) FROM trials t WHERE (SELECT count(*) FROM samples WHERE trial "
              "= t.id) <> 2 OR (SELECT count(*) FROM lineage_edges WHERE trial = t.id) <> "
              "(t.number > 1)") == "0");
    for (const RunRow& run : store.runs()) {
      CHECK(store.open_attempts(run.id).size() <= 1);
      const auto trials = store.trials(run.id);
      if (!trials.empty()) CHECK(trials.back().number == static_cast<int>(trials.size()));
    }
  }
  CHECK(ask(path, "SELECT count(*) > 5 FROM trials") == "1");
}

TEST_CASE("a disk without room is a MachineError and loses only what did not fit") {
  const ScratchFolder folder;
  const auto path = folder / "a.db";
  std::int64_t run = 0;
  std::int64_t kept = 0;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  {
    Store store(path, Store::Mode::write);
    run = store.begin_run(a_run());
    const auto old_handler = signal(SIGXFSZ, SIG_IGN);
    const rlimit tiny{400'000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &tiny);
    std::string message;
    for (std::int64_t number = 1; number < 1000 && message.empty(); ++number) {
      try {
        record_whole(store, run, number, kept);
        kept = number;
      } catch (const MachineError& error) {
        message = error.what();
      }
    }
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, old_handler);
    CHECK(has(message, "a.db: the disk"));
    CHECK(kept > 3);
    CHECK(kept < 999);
    // With room again the same store goes on.
    CHECK_NOTHROW(record_whole(store, run, kept + 1, kept));
  }
  CHECK(ask(path, "PRAGMA integrity_check") == "ok");
  CHECK(Store(path, Store::Mode::read).trials(run).size() == static_cast<std::size_t>(kept) + 1);
}

TEST_CASE("SQLITE_FULL says that the disk is full") {
  const ScratchFolder folder;
  SQLite::Database db((folder / "a.db").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  db.exec("CREATE TABLE t (x); PRAGMA max_page_count = 3");
  const std::string message = message_of<MachineError>([&] {
    translating_failures("a.db", [&] {
      for (int i = 0; i < 100; ++i) db.exec("INSERT INTO t VALUES (zeroblob(1000))");
    });
  });
  CHECK(has(message, "a.db: the disk is full"));
}

}  // namespace fa_tune::test
