#include "db/connection.hpp"

#include <fstream>
#include <string_view>
#include <system_error>

#include <linux/magic.h>
#include <sqlite3.h>
#include <sys/vfs.h>

#include "db/backup.hpp"
#include "db/failure.hpp"
#include "db/migrate.hpp"
#include "db/schema.hpp"
#include "engine/util/error.hpp"
#include "engine/util/log.hpp"

namespace fa_tune::db {
namespace {

// Of a text in a row, and of a row. The longest of ours are sources and spaces, a megabyte at most.
constexpr int kLongestValue = 32 << 20;

// SQLite takes a file of one byte for an empty one, and would write over it.
bool starts_as_database(const std::string& path) {
  constexpr std::string_view magic("SQLite format 3\0", 16);
  std::ifstream file(path, std::ios::binary);
  if (!file) return true;  // SQLite says why
  std::string start(magic.size(), ' ');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  return file.gcount() == 0 || start == magic;
}

// What the kernel makes up while it is read calls itself a regular file. Some of it never ends, and
// some waits for more.
bool is_made_up(const std::string& path) {
  struct statfs system {};
  return statfs(path.c_str(), &system) == 0 &&
         (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC);
}

void check_path(const std::string& path, Store::Mode mode) {
  if (path.empty()) throw UserError("the database's name is empty; name a file with --db");
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status))
    throw UserError(path + ": is a folder, expected a database file");
  if (std::filesystem::exists(status)) {
    if (!std::filesystem::is_regular_file(status) || is_made_up(path))
      throw UserError(path + ": is not a plain file, expected a database file");
    if (!starts_as_database(path))
      throw UserError(path + ": is not a database; expected one that fa-tune made, or a new name");
    return;
  }
  if (mode == Store::Mode::read)
    throw UserError(path +
                    ": there is no such database; 'fa-tune evolve --db FILE' makes one, "
                    "--db names another");
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, error))
    throw UserError(path + ": the folder " + folder.string() + " is not there; make it first");
}

std::unique_ptr<SQLite::Database> open_file(const std::filesystem::path& path, int flags) {
  // "./" keeps SQLite from reading meaning into names such as ":memory:" and "file:...".
  const std::string plain = path.is_absolute() ? path.string() : "./" + path.string();
  auto db = std::make_unique<SQLite::Database>(plain, flags, kBusyTimeoutMs);
  sqlite3_extended_result_codes(db->getHandle(), 1);
  sqlite3_limit(db->getHandle(), SQLITE_LIMIT_LENGTH, kLongestValue);
  return db;
}

// Pages are not read before they are needed, and what is written to a damaged file damages it more.
void check_whole(SQLite::Database& db, const std::string& path) {
  const std::string found = db.execAndGet("PRAGMA quick_check(1)").getString();
  if (found != "ok") throw_damaged(path, found);
  if (const std::string changed = changed_schema(db); !changed.empty())
    throw_damaged(path, changed);
}

// The switch needs the file alone for a moment and SQLite does not wait for it, so two processes
// that create the same file would trip over each other.
void switch_to_wal(SQLite::Database& db) {
  for (int tries = 1;; ++tries) {
    try {
      db.exec("PRAGMA journal_mode = WAL");
      return;
    } catch (const SQLite::Exception& failure) {
      if ((failure.getErrorCode() & 0xff) != SQLITE_BUSY || tries == 100) throw;
      sqlite3_sleep(kBusyTimeoutMs / 100);
    }
  }
}

std::unique_ptr<SQLite::Database> up_to_date_copy(SQLite::Database& db, const std::string& path) {
  // A database without a name is SQLite's to keep in memory or in a file that nobody sees.
  auto copy = std::make_unique<SQLite::Database>("", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  sqlite3_extended_result_codes(copy->getHandle(), 1);
  copy_pages(db, *copy);
  apply_migrations(*copy, path, [](int) {});
  copy->exec("PRAGMA query_only = ON");
  return copy;
}

std::unique_ptr<SQLite::Database> open_for_writing(const std::filesystem::path& path,
                                                   Migrated& migrated) {
  const std::string name = path.string();
  auto db = open_file(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  // Until the file is known as ours, closing it must not move its log into it.
  sqlite3_db_config(db->getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  const Identity identity = identify(*db);
  check_identity(identity, name, Store::Mode::write);
  if (sqlite3_db_readonly(db->getHandle(), "main") == 1)
    throw UserError(name + ": may only be read; change its permissions or name another file");
  if (!identity.empty()) check_whole(*db, name);
  sqlite3_db_config(db->getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  switch_to_wal(*db);
  db->exec("PRAGMA synchronous = FULL");
  db->exec("PRAGMA foreign_keys = ON");
  migrated = {newest_schema(), newest_schema(), {}};
  if (identity.schema < newest_schema())
    migrated.from =
        apply_migrations(*db, name, [&](int schema) { migrated.copy = keep_copy(path, schema); });
  return db;
}

}  // namespace

std::unique_ptr<SQLite::Database> open_as_it_is(const std::filesystem::path& path) {
  const std::string name = path.string();
  check_path(name, Store::Mode::read);
  return translating_failures(name, [&] {
    auto db = open_file(path, SQLite::OPEN_READONLY);
    check_identity(identify(*db), name, Store::Mode::read);
    return db;
  });
}

std::unique_ptr<SQLite::Database> open_copy(const std::filesystem::path& path) {
  const std::string name = path.string();
  const auto db = open_as_it_is(path);
  return translating_failures(name, [&] { return up_to_date_copy(*db, name); });
}

std::unique_ptr<SQLite::Database> open_connection(const std::filesystem::path& path,
                                                  Store::Mode mode) {
  const std::string name = path.string();
  if (mode == Store::Mode::write) {
    check_path(name, mode);
    Migrated migrated;
    auto db = translating_failures(name, [&] { return open_for_writing(path, migrated); });
    if (!migrated.copy.empty())
      log_info("{}: went from schema {} to {}; as it was it is in {}", name, migrated.from,
               migrated.to, migrated.copy.string());
    return db;
  }
  auto db = open_as_it_is(path);
  return translating_failures(name, [&] {
    // What a view or a trigger in the place of a table of ours would run need never end.
    if (const std::string changed = changed_schema(*db); !changed.empty())
      throw_damaged(name, changed);
    if (identify(*db).schema == newest_schema()) return std::move(db);
    return up_to_date_copy(*db, name);
  });
}

Migrated migrate_database(const std::filesystem::path& path) {
  Migrated migrated;
  // To look first: opening for writing makes what is not there, and fills what is empty.
  (void)open_as_it_is(path);
  translating_failures(path.string(), [&] { (void)open_for_writing(path, migrated); });
  return migrated;
}

}  // namespace fa_tune::db
