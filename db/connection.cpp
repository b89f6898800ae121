#include "db/connection.hpp"

#include <chrono>
#include <fstream>
#include <string_view>
#include <system_error>
#include <thread>

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/core.h>
#include <sqlite3.h>

#include "db/failure.hpp"
#include "db/migrations.hpp"
#include "engine/base/error.hpp"

namespace fa_tune {
namespace {

struct Identity {
  int application_id = 0;
  int version = 0;
  int tables = 0;  // and views, indexes, triggers

  bool empty() const { return tables == 0 && application_id == 0 && version == 0; }
};

// One SELECT is one snapshot: another process may be creating the schema at this moment.
Identity identify(SQLite::Database& db) {
  SQLite::Statement query(db,
                          "SELECT (SELECT application_id FROM pragma_application_id), "
                          "(SELECT user_version FROM pragma_user_version), "
                          "(SELECT count(*) FROM sqlite_schema)");
  query.executeStep();
  return {query.getColumn(0), query.getColumn(1), query.getColumn(2)};
}

// SQLite takes a file of one byte for an empty one, and would write over it.
bool starts_as_database(const std::string& path) {
  constexpr std::string_view magic("SQLite format 3\0", 16);
  std::ifstream file(path, std::ios::binary);
  if (!file) return true;  // SQLite says why
  std::string start(magic.size(), ' ');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  return file.gcount() == 0 || start == magic;
}

void check_path(const std::string& path, Store::Mode mode) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status))
    throw UserError(path + ": is a folder, expected a database file");
  if (std::filesystem::exists(status)) {
    if (!std::filesystem::is_regular_file(status))
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

void check_identity(const Identity& identity, const std::string& path, Store::Mode mode) {
  const int newest = migrations().back().number;
  if (identity.empty()) {
    if (mode == Store::Mode::read) throw UserError(path + ": is empty, no run was recorded in it");
    return;
  }
  if (identity.application_id != kApplicationId)
    throw UserError(path +
                    ": is a database of another program; expected one that fa-tune made, or a new "
                    "name");
  if (identity.version > newest)
    throw UserError(fmt::format(
        "{}: was written by a newer fa-tune (schema {}, this one knows {}); use that one", path,
        identity.version, newest));
  if (mode == Store::Mode::read && identity.version < newest)
    throw UserError(
        fmt::format("{}: has the older schema {}, this fa-tune reads {}; write to it once (such as "
                    "'fa-tune evolve --budget 1') to bring it up to date",
                    path, identity.version, newest));
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
      std::this_thread::sleep_for(std::chrono::milliseconds(kBusyTimeoutMs / 100));
    }
  }
}

void migrate(SQLite::Database& db, const std::string& path) {
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  // Again, now that nobody else can write: another process may have been first.
  const Identity identity = identify(db);
  check_identity(identity, path, Store::Mode::write);
  for (const Migration& migration : migrations()) {
    if (migration.number <= identity.version) continue;
    db.exec(std::string(migration.sql));
    db.exec(fmt::format("PRAGMA user_version = {}", migration.number));
  }
  db.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
  transaction.commit();
}

}  // namespace

std::unique_ptr<SQLite::Database> open_connection(const std::filesystem::path& path,
                                                  Store::Mode mode) {
  const std::string name = path.string();
  if (name.empty()) throw UserError("the database's name is empty; name a file with --db");
  check_path(name, mode);
  return translating_failures(name, [&] {
    // "./" keeps SQLite from reading meaning into names such as ":memory:" and "file:...".
    const std::string plain = path.is_absolute() ? name : "./" + name;
    const bool write = mode == Store::Mode::write;
    auto db = std::make_unique<SQLite::Database>(
        plain, write ? SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE : SQLite::OPEN_READONLY,
        kBusyTimeoutMs);
    sqlite3_extended_result_codes(db->getHandle(), 1);
    // Until the file is known as ours, closing it must not move its log into it.
    sqlite3_db_config(db->getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    const Identity identity = identify(*db);
    check_identity(identity, name, mode);
    if (!write) return db;

    if (sqlite3_db_readonly(db->getHandle(), "main") == 1)
      throw UserError(name + ": may only be read; change its permissions or name another file");
    sqlite3_db_config(db->getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
    switch_to_wal(*db);
    db->exec("PRAGMA synchronous = FULL");
    db->exec("PRAGMA foreign_keys = ON");
    if (identity.version < migrations().back().number) migrate(*db, name);
    return db;
  });
}

}  // namespace fa_tune
