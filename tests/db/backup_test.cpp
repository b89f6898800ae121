#include "db/backup.hpp"

#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "db/check.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;

namespace {

std::size_t files_in(const ScratchFolder& folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(folder.path()))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("a backup is one file that holds what was committed, and is never put over another") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  store.record_trial(a_trial(run, 1, 100), {}, {{0, "screen", {100}}}, "kernel 1");
  const ScratchFolder elsewhere;
  backup_database(folder / "a.db", elsewhere / "copy.db");
  CHECK(files_in(elsewhere) == 1);
  CHECK(ask(elsewhere / "copy.db", "PRAGMA journal_mode") == "delete");
  CHECK(Store(elsewhere / "copy.db", Store::Mode::read).trials(run).size() == 1);

  const std::string before = read_file(elsewhere / "copy.db");
  store.record_trial(a_trial(run, 2, 100), {}, {{0, "screen", {100}}}, "kernel 2");
  CHECK(has(message_of<UserError>([&] { backup_database(folder / "a.db", elsewhere / "copy.db"); }),
            "copy.db: is there already"));
  CHECK(read_file(elsewhere / "copy.db") == before);
  std::filesystem::create_symlink(elsewhere / "nowhere", elsewhere / "link.db");
  CHECK_THROWS_AS(backup_database(folder / "a.db", elsewhere / "link.db"), UserError);
  CHECK_THROWS_AS(backup_database(folder / "a.db", folder / "a.db"), UserError);
  CHECK_THROWS_AS(backup_database(folder / "no.db", elsewhere / "b.db"), UserError);
  CHECK_THROWS_AS(backup_database(folder / "a.db", elsewhere / "no" / "b.db"), UserError);
  CHECK(files_in(elsewhere) == 2);

  // A copy is a database: work goes on in it.
  Store copied(elsewhere / "copy.db", Store::Mode::write);
  CHECK_NOTHROW(copied.record_trial(a_trial(run, 2, 90), {}, {}, "kernel 2"));
}

TEST_CASE("a backup that is made while trials are written is whole: all of a trial or nothing") {
  const ScratchFolder folder(memory_folder());
  const auto path = folder / "a.db";
  Store store(path, Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  const std::string large(20'000, 'x');
  std::atomic<std::int64_t> written = 0;
  std::atomic<bool> stop = false;
  std::jthread writer([&] {
    while (!stop) {
      const std::int64_t number = written + 1;
      store.record_attempt(run, number, a_trial(run, number, 50).config_json);
      store.record_trial(a_trial(run, number, 50), {}, {{0, "screen", {50, 51}}},
                         large + std::to_string(number));
      written = number;
    }
  });
  for (int round = 0; round < 8; ++round) {
    const std::int64_t before = written + 20;
    while (written < before) std::this_thread::yield();
    const auto copy = folder / ("copy" + std::to_string(round));
    backup_database(path, copy);
    const std::int64_t after = written + 1;
    const Store copied(copy, Store::Mode::read);
    const auto trials = static_cast<std::int64_t>(copied.trials(run).size());
    CHECK(trials >= before);
    CHECK(trials <= after);
    CHECK(copied.open_attempts(run).size() <= 1);
    CHECK(ask(copy, "SELECT count(*) FROM trials WHERE id NOT IN (SELECT trial FROM samples)") ==
          "0");
    CHECK(ask(copy, "PRAGMA integrity_check") == "ok");
  }
  stop = true;
}

}  // namespace fa_tune::test
