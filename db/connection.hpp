#pragma once

#include <filesystem>
#include <memory>

#include <SQLiteCpp/Database.h>

#include "db/store.hpp"

namespace fa_tune::db {

// How long a statement waits for another process's transaction. Those last milliseconds; if it
// takes longer, something hangs.
inline constexpr int kBusyTimeoutMs = 5000;

// Opens and checks a database. For writing it creates the file. A file of an older schema is
// brought up to date, after a copy of it was made beside it (keep_copy). A damaged file is refused,
// and left as it was. For reading nothing is changed: a file of an older schema is read from a copy
// in memory that is up to date. Throws what Store's constructor promises.
std::unique_ptr<SQLite::Database> open_connection(const std::filesystem::path& path,
                                                  Store::Mode mode);

// A copy in memory that is up to date; in a file without a name if it is large.
std::unique_ptr<SQLite::Database> open_copy(const std::filesystem::path& path);

// Opens a database for reading, with the schema that it has.
std::unique_ptr<SQLite::Database> open_as_it_is(const std::filesystem::path& path);

}  // namespace fa_tune::db
