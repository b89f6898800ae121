#pragma once

#include <functional>
#include <string>

#include <SQLiteCpp/Database.h>

#include "db/store.hpp"

namespace fa_tune::db {

// "fatu": PRAGMA application_id of every database of fa-tune.
inline constexpr int kApplicationId = 0x66617475;

int newest_schema();

// What a file says it is.
struct Identity {
  int application_id = 0;
  int schema = 0;  // PRAGMA user_version: the number of the last migration applied
  int tables = 0;  // and views, indexes, triggers

  bool empty() const { return tables == 0 && application_id == 0 && schema == 0; }
};

Identity identify(SQLite::Database& db);

// The first table, index, trigger or view that differs from what the migrations up to the file's
// schema make, in a line; empty if there is none. A user's own tables and views do not count: what
// is asked of ours does not reach them. A trigger or an index of his on ours does.
std::string changed_schema(SQLite::Database& db);

// Throws UserError for another program's database and for a newer schema; for an empty one in read
// mode.
void check_identity(const Identity& identity, const std::string& path, Store::Mode mode);

// Applies the missing migrations, in one transaction. `before` is called with the schema that is
// there, while nobody else can write, unless the file is empty. Foreign keys are off meanwhile.
// Returns the schema that was there.
int apply_migrations(SQLite::Database& db, const std::string& path,
                     const std::function<void(int schema)>& before);

}  // namespace fa_tune::db
