#pragma once

#include <filesystem>
#include <functional>

#include <SQLiteCpp/Database.h>

namespace fa_tune::db {

// Copies all of `source`, as it stands at one moment, into `target`, in steps of a megabyte or so.
// Throws SQLite::Exception if either is locked by another process for longer than the source's busy
// timeout.
void copy_pages(
    SQLite::Database& source, SQLite::Database& target,
    const std::function<void()>& after_step = [] {});

// Makes the new file `made` of what `fill` puts into it, out of `path`: it is checked, and on disk
// before it gets its name. Throws as backup_database does, or what `fill` throws; then there is no
// file of that name.
void make_database(const std::filesystem::path& path, const std::filesystem::path& made,
                   const std::function<void(SQLite::Database& target)>& fill);

// Copies a database into the new file `copy` while others work on it. The copy is the database as
// it stood at one moment, in one file without a log. It is checked, and on disk before it gets its
// name. Throws UserError if there is a `copy` already or its folder may not be written,
// MachineError for a full or failing disk; then there is no file of that name.
void backup_database(const std::filesystem::path& path, const std::filesystem::path& copy);

// The same into the first free name of PATH.schema-N, PATH.schema-N.2, PATH.schema-N.3, ...;
// returns it.
std::filesystem::path keep_copy(const std::filesystem::path& path, int schema);

}  // namespace fa_tune::db
