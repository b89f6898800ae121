#include "db/failure.hpp"

#include <stdexcept>

#include <fmt/core.h>
#include <sqlite3.h>

#include "engine/util/error.hpp"
#include "engine/util/printable.hpp"

namespace fa_tune::db {
namespace {

[[noreturn]] void throw_disk_failure(const std::string& path, const std::string& found) {
  throw MachineError(fmt::format(
      "{}: the disk failed ({}); what was being written was not kept; check the disk, its quota, "
      "its free space and the limit of file sizes (ulimit -f), then resume",
      path, found));
}

}  // namespace

void throw_database_failure(const std::string& path, const SQLite::Exception& failure) {
  const char* const text = failure.what();
  switch (failure.getErrorCode() & 0xff) {  // the low byte is the primary code
    case SQLITE_FULL:
      throw MachineError(fmt::format(
          "{}: the disk is full; what was being written was not kept, everything before it was; "
          "free some space and resume",
          path));
    case SQLITE_IOERR:
      throw_disk_failure(path, fmt::format("{}, code {}", text, failure.getExtendedErrorCode()));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:  // the log's index stayed locked
      throw MachineError(fmt::format(
          "{}: another process is writing to it and did not finish in time; wait for it or end it, "
          "or name another file with --db",
          path));
    case SQLITE_NOMEM:
      throw MachineError(fmt::format("{}: out of memory; free some and try again", path));
    case SQLITE_TOOBIG:
      throw UserError(fmt::format(
          "{}: holds a text larger than any that fa-tune writes; restore a copy", path));
    case SQLITE_NOTADB:
      throw UserError(fmt::format(
          "{}: is not a database; expected one that fa-tune made, or a new name", path));
    case SQLITE_CORRUPT:
      throw_damaged(path, text);
    case SQLITE_ERROR:  // our statements are fixed, so it is the schema that differs
      throw UserError(fmt::format(
          "{}: is damaged or was changed by another program ({}); restore a copy", path, text));
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      throw UserError(fmt::format(
          "{}: cannot be opened or written ({}); check the permissions of the file and its folder",
          path, text));
    default:
      break;
  }
  const int extended = failure.getExtendedErrorCode();
  if (extended == SQLITE_CONSTRAINT_UNIQUE || extended == SQLITE_CONSTRAINT_PRIMARYKEY)
    throw UserError(fmt::format(
        "{}: is recorded already ({}); is another process working on the same run? end one of them",
        path, text));
  throw std::logic_error(fmt::format("{}: {} (SQLite code {})", path, text, extended));
}

bool is_damage(const SQLite::Exception& failure) {
  const int code = failure.getErrorCode() & 0xff;
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR;
}

// The words of SQLite's btree.c for a page that the disk did not give. A page number that cannot be
// is told in others, before the page is asked for.
bool is_unread(const std::string& found) {
  return found.find("unable to get the page") != std::string::npos ||
         found.find("failed to get page") != std::string::npos;
}

void throw_damaged(const std::string& path, const std::string& found) {
  if (is_unread(found)) throw_disk_failure(path, printable(found, 200));
  throw UserError(
      fmt::format("{}: is damaged ({}); restore a copy, or save what can be read with "
                  "'sqlite3 FILE .recover'",
                  path, printable(found, 200)));
}

}  // namespace fa_tune::db
