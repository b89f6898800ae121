#pragma once

#include <filesystem>
#include <memory>

#include <SQLiteCpp/Database.h>

#include "db/store.hpp"

namespace fa_tune {

// How long a statement waits for another process's transaction, which lasts milliseconds: longer
// means that something hangs.
inline constexpr int kBusyTimeoutMs = 5000;

// Opens and checks. For writing it creates the file; one of an older schema is brought up to date,
// after a copy of it was made beside it (keep_copy), and one that is damaged is refused. For
// reading nothing is changed: what an older schema holds is read from a copy in memory that is up
// to date. A file that is refused is left as it was. Throws what Store's constructor promises.
std::unique_ptr<SQLite::Database> open_connection(const std::filesystem::path& path,
                                                  Store::Mode mode);

// The same as a copy in memory that is up to date, in a file without a name where it is large.
std::unique_ptr<SQLite::Database> open_copy(const std::filesystem::path& path);

// Opens for reading, with the schema that is there.
std::unique_ptr<SQLite::Database> open_as_it_is(const std::filesystem::path& path);

}  // namespace fa_tune
