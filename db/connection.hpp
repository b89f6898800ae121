#pragma once

#include <filesystem>
#include <memory>

#include <SQLiteCpp/Database.h>

#include "db/store.hpp"

namespace fa_tune {

// "fatu": PRAGMA application_id of every database of fa-tune.
inline constexpr int kApplicationId = 0x66617475;

// How long a statement waits for another process's transaction, which lasts milliseconds: longer
// means that something hangs.
inline constexpr int kBusyTimeoutMs = 5000;

// Opens, checks and, in write mode, creates or brings up to date. A file that is refused is left as
// it was. Throws what Store's constructor promises.
std::unique_ptr<SQLite::Database> open_connection(const std::filesystem::path& path,
                                                  Store::Mode mode);

}  // namespace fa_tune
