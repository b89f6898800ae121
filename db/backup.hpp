#pragma once

#include <filesystem>
#include <functional>

#include <SQLiteCpp/Database.h>

namespace fa_tune {

// All of `source`, as it stands at one moment, into `target`, in steps of a megabyte or so. Throws
// SQLite::Exception where either is locked by another for longer than the source's busy timeout.
void copy_pages(
    SQLite::Database& source, SQLite::Database& target,
    const std::function<void()>& after_step = [] {});

// Copies a database into the new file `copy` while others work on it: as it stood at one moment, in
// one file without a log, checked, on disk before it has its name. Throws UserError if there is a
// `copy` already or its folder may not be written, MachineError for a full or failing disk; then
// there is nothing under that name.
void backup_database(const std::filesystem::path& path, const std::filesystem::path& copy);

// The same into the first free of PATH.schema-N, PATH.schema-N.2, PATH.schema-N.3, ...; returns
// which.
std::filesystem::path keep_copy(const std::filesystem::path& path, int schema);

}  // namespace fa_tune
