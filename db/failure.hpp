#pragma once

#include <string>
#include <utility>

#include <SQLiteCpp/Exception.h>

namespace fa_tune {

// What SQLite's error means to a person, thrown as
//   MachineError      disk full, input/output error, locked by another process, out of memory
//   UserError         not a database, damaged or changed, no permission, a row that is there
//   already std::logic_error  a row that breaks the schema: a mistake in the engine
// All one line, starting with the database's path, and saying what to do.
[[noreturn]] void throw_database_failure(const std::string& path, const SQLite::Exception& failure);

// Whether the failure is about the file's content: pages that make no sense, tables that are not
// there.
bool is_damage(const SQLite::Exception& failure);

// Whether what SQLite's check of a file found is only that the disk did not give a page.
bool is_unread(const std::string& found);

// UserError: `found` is what is wrong with the file. MachineError if it is_unread.
[[noreturn]] void throw_damaged(const std::string& path, const std::string& found);

template <typename Action>
auto translating_failures(const std::string& path, Action&& action) {
  try {
    return std::forward<Action>(action)();
  } catch (const SQLite::Exception& failure) {
    throw_database_failure(path, failure);
  }
}

}  // namespace fa_tune
