#include <fstream>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <doctest/doctest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/connection.hpp"
#include "db/failure.hpp"
#include "db/migrations.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;

namespace {

std::string refusal(const std::filesystem::path& path, Store::Mode mode) {
  const std::string message = message_of<UserError>([&] { Store store(path, mode); });
  CHECK(message.find('\n') == std::string::npos);
  return message;
}

// Both modes refuse with the same words, and the file stays as it was, byte for byte.
void check_refused(const std::filesystem::path& path, const std::string& why) {
  const std::string before = read_file(path);
  CHECK(has(refusal(path, Store::Mode::read), why));
  CHECK(has(refusal(path, Store::Mode::write), why));
  CHECK(read_file(path) == before);
}

// Permissions mean nothing to root, so the child becomes somebody else.
template <typename Action>
int in_child_without_rights(Action&& action) {
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(9);
    _exit(action());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("an empty file and no file both become a database with our marks") {
  const ScratchFolder folder;
  std::ofstream(folder / "empty.db").close();
  for (const char* name : {"empty.db", "none.db"}) {
    { Store store(folder / name, Store::Mode::write); }
    CHECK(ask(folder / name, "PRAGMA application_id") == std::to_string(0x66617475));
    CHECK(ask(folder / name, "PRAGMA user_version") == std::to_string(migrations().back().number));
    CHECK(ask(folder / name, "PRAGMA journal_mode") == "wal");
    CHECK(ask(folder / name, "PRAGMA integrity_check") == "ok");
    CHECK(ask(folder / name,
              "SELECT min(strict) FROM pragma_table_list WHERE type = 'table' AND "
              "name NOT LIKE 'sqlite_%'") == "1");
  }
}

TEST_CASE("the connection has the settings that make a commit last") {
  const ScratchFolder folder;
  const auto db = open_connection(folder / "a.db", Store::Mode::write);
  CHECK(db->execAndGet("PRAGMA synchronous").getInt() == 2);
  CHECK(db->execAndGet("PRAGMA foreign_keys").getInt() == 1);
  CHECK(db->execAndGet("PRAGMA busy_timeout").getInt() == kBusyTimeoutMs);
}

TEST_CASE("what the kernel makes up is no database, whatever it calls itself") {
  const ScratchFolder folder;
  // To read the kernel's log may wait for ever.
  std::filesystem::create_symlink("/proc/kmsg", folder / "log.db");
  for (const Store::Mode mode : {Store::Mode::read, Store::Mode::write})
    for (const std::filesystem::path& path :
         {folder / "log.db", std::filesystem::path("/proc/self/status")})
      CHECK(has(message_of<UserError>([&] { Store(path, mode); }), "is not a plain file"));
}

TEST_CASE("files that are not ours are refused and left alone") {
  const ScratchFolder folder;
  for (const std::string& bytes : {std::string("x"), std::string("not a database\n"),
                                   std::string(10'000, 'z'), std::string(100, '\0')}) {
    write_file(folder / "text.db", bytes);
    check_refused(folder / "text.db", "is not a database");
  }
  change(folder / "other.db", "CREATE TABLE songs (name TEXT)");
  check_refused(folder / "other.db", "another program");
  change(folder / "wal.db", "PRAGMA journal_mode = WAL; CREATE TABLE songs (name TEXT)");
  check_refused(folder / "wal.db", "another program");
  change(folder / "marked.db", "PRAGMA application_id = 7");
  check_refused(folder / "marked.db", "another program");
  { Store store(folder / "newer.db", Store::Mode::write); }
  change(folder / "newer.db", "PRAGMA user_version = 99");
  check_refused(folder / "newer.db", "newer fa-tune (schema 99");

  std::filesystem::create_directory(folder / "sub");
  CHECK(has(refusal(folder / "sub", Store::Mode::read), "is a folder"));
  CHECK(has(refusal(folder / "sub", Store::Mode::write), "is a folder"));
  CHECK(has(refusal("/dev/null", Store::Mode::write), "not a plain file"));
  CHECK(has(refusal("", Store::Mode::write), "name is empty"));
  CHECK(has(refusal(folder / "no", Store::Mode::read), "no such database"));
  CHECK_FALSE(std::filesystem::exists(folder / "no"));
  CHECK(has(refusal(folder / "no" / "a.db", Store::Mode::write), "is not there"));
  std::ofstream(folder / "empty.db").close();
  CHECK(has(refusal(folder / "empty.db", Store::Mode::read), "is empty"));
  CHECK(std::filesystem::file_size(folder / "empty.db") == 0);
}

TEST_CASE("the log that another program left beside its database is not moved into it") {
  const ScratchFolder folder;
  SQLite::Database busy((folder / "busy.db").string(),
                        SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  busy.exec("PRAGMA journal_mode = WAL; CREATE TABLE songs (name TEXT)");
  for (const char* suffix : {"", "-wal"})
    std::filesystem::copy_file(folder / (std::string("busy.db") + suffix),
                               folder / (std::string("left.db") + suffix));
  const std::string log = read_file(folder / "left.db-wal");
  CHECK(log.size() > 4096);
  check_refused(folder / "left.db", "another program");
  CHECK(read_file(folder / "left.db-wal") == log);
}

TEST_CASE("no permission is a line about permissions") {
  const ScratchFolder folder;
  { Store store(folder / "a.db", Store::Mode::write); }
  chmod(folder.path().c_str(), 0755);
  chmod((folder / "a.db").c_str(), 0444);
  CHECK(in_child_without_rights([&] {
          return has(refusal(folder / "a.db", Store::Mode::write), "permissions") ? 0 : 1;
        }) == 0);
  CHECK(in_child_without_rights([&] {
          return has(refusal(folder / "new.db", Store::Mode::write), "permissions") ? 0 : 1;
        }) == 0);
  chmod((folder / "a.db").c_str(), 0000);
  CHECK(in_child_without_rights([&] {
          return has(refusal(folder / "a.db", Store::Mode::read), "permissions") ? 0 : 1;
        }) == 0);
}

TEST_CASE("a reader reads while a writer writes, and cannot write itself") {
  const ScratchFolder folder;
  Store writer(folder / "a.db", Store::Mode::write);
  const std::int64_t run = writer.begin_run(a_run());
  Store reader(folder / "a.db", Store::Mode::read);
  for (int number = 1; number <= 5; ++number) {
    writer.record_trial(a_trial(run, number, 100), {}, {}, "kernel");
    CHECK(reader.trials(run).size() == static_cast<std::size_t>(number));
  }
  CHECK_THROWS_AS(reader.begin_run(a_run()), UserError);
}

TEST_CASE("two writers share a file, and a held lock is the machine's fault") {
  const ScratchFolder folder;
  Store one(folder / "a.db", Store::Mode::write);
  Store two(folder / "a.db", Store::Mode::write);
  const std::int64_t run = one.begin_run(a_run());
  one.record_trial(a_trial(run, 1, 100), {}, {}, "kernel 1");
  two.record_trial(a_trial(run, 2, 100), {}, {}, "kernel 2");
  CHECK(one.trials(run).size() == 2);
  const auto busy = message_of<MachineError>(
      [] { throw_database_failure("a.db", SQLite::Exception("locked", SQLITE_BUSY)); });
  CHECK(has(busy, "a.db: another process is writing"));
}

TEST_CASE("names with a meaning to SQLite are plain names") {
  const ScratchFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  { Store store(":memory:", Store::Mode::write); }
  { Store store("file:x?mode=memory", Store::Mode::write); }
  CHECK(std::filesystem::exists(":memory:"));
  CHECK(std::filesystem::exists("file:x?mode=memory"));
  std::filesystem::current_path(before);
}

}  // namespace fa_tune::test
