#pragma once

#include <filesystem>

namespace fa_tune::db {

struct Migrated {
  int from = 0;
  int to = 0;                  // equal: nothing was to be done
  std::filesystem::path copy;  // the file as it was; empty if nothing was done
};

// Brings a database of an older schema up to date, all or nothing, after a copy was made beside it.
// Throws as opening a Store for writing does; a file that is not there is not made.
Migrated migrate_database(const std::filesystem::path& path);

}  // namespace fa_tune::db
