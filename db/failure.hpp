#pragma once

#include <string>
#include <utility>

#include <SQLiteCpp/Exception.h>

namespace fa_tune::db {

// Throws what SQLite's error means to a person:
//   MachineError      disk full, input/output error, locked by another process, out of memory
//   UserError         not a database, damaged or changed, no permission, a row that exists already
//   std::logic_error  a row that breaks the schema: a mistake in the engine
// Each message is one line, starts with the database's path, and says what to do.
[[noreturn]] void throw_database_failure(const std::string& path, const SQLite::Exception& failure);

// Whether the failure is in the file's content: pages that make no sense, tables that are missing.
bool is_damage(const SQLite::Exception& failure);

// Whether SQLite's check of a file found only that the disk did not give a page.
bool is_unread(const std::string& found);

// Throws UserError, which says what was found wrong with the file; MachineError if
// is_unread(found).
[[noreturn]] void throw_damaged(const std::string& path, const std::string& found);

template <typename Action>
auto translating_failures(const std::string& path, Action&& action) {
  try {
    return std::forward<Action>(action)();
  } catch (const SQLite::Exception& failure) {
    throw_database_failure(path, failure);
  }
}

}  // namespace fa_tune::db
