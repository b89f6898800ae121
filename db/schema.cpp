#include "db/schema.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/core.h>

#include "db/migrations.hpp"
#include "engine/util/error.hpp"
#include "engine/util/fault_point.hpp"

namespace fa_tune::db {

int newest_schema() { return migrations().back().number; }

// One SELECT is one snapshot: another process may be creating the schema at this moment.
Identity identify(SQLite::Database& db) {
  SQLite::Statement query(db,
                          "SELECT (SELECT application_id FROM pragma_application_id), "
                          "(SELECT user_version FROM pragma_user_version), "
                          "(SELECT count(*) FROM sqlite_schema)");
  query.executeStep();
  return {query.getColumn(0), query.getColumn(1), query.getColumn(2)};
}

void check_identity(const Identity& identity, const std::string& path, Store::Mode mode) {
  if (identity.empty()) {
    if (mode == Store::Mode::read) throw UserError(path + ": is empty, no run was recorded in it");
    return;
  }
  if (identity.application_id != kApplicationId)
    throw UserError(path +
                    ": is a database of another program; expected one that fa-tune made, or a new "
                    "name");
  if (identity.schema < 0)
    throw UserError(
        fmt::format("{}: says that it is of schema {}, which there never was; restore a copy", path,
                    identity.schema));
  if (identity.schema > newest_schema())
    throw UserError(fmt::format(
        "{}: was written by a newer fa-tune (schema {}, this one knows {}); use that one", path,
        identity.schema, newest_schema()));
}

namespace {

struct SchemaObject {
  std::string type, name, sql;
};

// What the migrations make, up to this one. Kept: to make it takes longer than all else that opening
// a database does, and tests open thousands.
const std::vector<SchemaObject>& made_by_migrations(int schema) {
  static std::mutex mutex;
  static std::map<int, std::vector<SchemaObject>> kept;
  const std::lock_guard lock(mutex);
  schema = std::clamp(schema, 0, newest_schema());
  if (const auto found = kept.find(schema); found != kept.end()) return found->second;
  SQLite::Database fresh(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  for (const Migration& migration : migrations())
    if (migration.number <= schema) fresh.exec(std::string(migration.sql));
  SQLite::Statement made(fresh, "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL");
  std::vector<SchemaObject> objects;
  while (made.executeStep())
    objects.push_back({made.getColumn(0), made.getColumn(1), made.getColumn(2)});
  return kept.emplace(schema, std::move(objects)).first->second;
}

}  // namespace

std::string changed_schema(SQLite::Database& db) {
  SQLite::Statement found(db, "SELECT sql FROM sqlite_schema WHERE type = ? AND name = ?");
  const std::vector<SchemaObject>& ours = made_by_migrations(identify(db).schema);
  for (const auto& [type, name, sql] : ours) {
    found.reset();
    found.bind(1, type);
    found.bind(2, name);
    if (!found.executeStep()) return type + " " + name + " is missing";
    if (found.getColumn(0).getString() != sql) return type + " " + name + " was changed";
  }
  SQLite::Statement more(db,
                         "SELECT type, name FROM sqlite_schema WHERE sql IS NOT NULL AND type NOT "
                         "IN ('table', 'view')");
  while (more.executeStep()) {
    const std::string type = more.getColumn(0).getString();
    const std::string name = more.getColumn(1).getString();
    const bool known = std::ranges::any_of(ours, [&](const SchemaObject& object) {
      return object.type == type && object.name == name;
    });
    if (!known) return type + " " + name + " was added";
  }
  return "";
}

namespace {

// A migration that makes a table anew drops the one that others refer to. The switch does nothing
// inside a transaction.
class ForeignKeysOff {
 public:
  explicit ForeignKeysOff(SQLite::Database& db)
      : db_(db), on_(db.execAndGet("PRAGMA foreign_keys").getInt() != 0) {
    db_.exec("PRAGMA foreign_keys = OFF");
  }
  ~ForeignKeysOff() {
    if (on_) (void)db_.tryExec("PRAGMA foreign_keys = ON");
  }
  ForeignKeysOff(const ForeignKeysOff&) = delete;
  ForeignKeysOff& operator=(const ForeignKeysOff&) = delete;

 private:
  SQLite::Database& db_;
  bool on_;
};

}  // namespace

int apply_migrations(SQLite::Database& db, const std::string& path,
                     const std::function<void(int schema)>& before) {
  const ForeignKeysOff off(db);
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  // Again, now that nobody else can write: another process may have been first.
  const Identity identity = identify(db);
  check_identity(identity, path, Store::Mode::write);
  if (identity.schema == newest_schema()) return identity.schema;
  if (!identity.empty()) before(identity.schema);
  for (const Migration& migration : migrations()) {
    if (migration.number <= identity.schema) continue;
    db.exec(std::string(migration.sql));
    db.exec(fmt::format("PRAGMA user_version = {}", migration.number));
    fault_point("schema_applied");
  }
  db.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
  transaction.commit();
  fault_point("schema_committed");
  return identity.schema;
}

}  // namespace fa_tune::db
