#include "db/backup.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/Statement.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/connection.hpp"
#include "db/failure.hpp"
#include "engine/util/error.hpp"
#include "engine/util/fault_point.hpp"

namespace fa_tune::db {
namespace {

// Pages copied at once; a step is short enough to be interrupted and long enough to cost nothing.
constexpr int kPagesAStep = 256;

// A name of its own beside the copy, gone with the object unless it became the copy.
class Temporary {
 public:
  explicit Temporary(const std::filesystem::path& copy) : name_(copy.string() + ".XXXXXX") {
    const int descriptor = mkstemp(name_.data());
    if (descriptor < 0)
      throw UserError(copy.string() + ": cannot be written: " + std::strerror(errno));
    // As every other file of ours: mkstemp makes it for its owner alone.
    fchmod(descriptor, 0644);
    close(descriptor);
  }
  ~Temporary() {
    if (name_.empty()) return;
    for (const char* suffix : {"", "-journal", "-wal", "-shm"}) unlink((name_ + suffix).c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const std::string& name() const { return name_; }

  // Fails where there is a file of that name: it is never replaced.
  void become(const std::filesystem::path& copy) {
    int failed = renameat2(AT_FDCWD, name_.c_str(), AT_FDCWD, copy.c_str(), RENAME_NOREPLACE);
    // Not every file system can promise it; the caller has looked just before.
    if (failed != 0 && errno == EINVAL) failed = std::rename(name_.c_str(), copy.c_str());
    if (failed != 0) {
      if (errno == EEXIST) throw_taken(copy);
      throw UserError(copy.string() + ": cannot be written: " + std::strerror(errno));
    }
    name_.clear();
  }

  [[noreturn]] static void throw_taken(const std::filesystem::path& copy) {
    throw UserError(copy.string() + ": is there already, a copy goes to a new file");
  }

 private:
  std::string name_;
};

}  // namespace

void copy_pages(SQLite::Database& source, SQLite::Database& target,
                const std::function<void()>& after_step) {
  // One snapshot for all steps, or what others write meanwhile would start the copy anew.
  source.exec("BEGIN");
  source.execAndGet("SELECT count(*) FROM sqlite_schema");
  SQLite::Backup backup(target, source);
  int result = SQLITE_OK;
  while (result != SQLITE_DONE) {
    result = backup.executeStep(kPagesAStep);
    if (result == SQLITE_BUSY || result == SQLITE_LOCKED)
      throw SQLite::Exception(target.getHandle(), result);
    after_step();
  }
  source.exec("COMMIT");
}

void make_database(const std::filesystem::path& path, const std::filesystem::path& made,
                   const std::function<void(SQLite::Database& target)>& fill) {
  std::error_code error;
  if (std::filesystem::exists(std::filesystem::symlink_status(made, error)))
    Temporary::throw_taken(made);
  Temporary temporary(made);
  fault_point("backup_begun");
  translating_failures(made.string(), [&] {
    SQLite::Database target(temporary.name(), SQLite::OPEN_READWRITE);
    sqlite3_extended_result_codes(target.getHandle(), 1);
    target.exec("PRAGMA synchronous = FULL");
    fill(target);
    // A database with a log cannot be read from a folder that may not be written.
    target.exec("PRAGMA journal_mode = DELETE");
    const std::string found = target.execAndGet("PRAGMA quick_check(1)").getString();
    if (found != "ok") throw_damaged(path.string(), found);
  });
  fault_point("backup_whole");
  temporary.become(made);
  fault_point("backup_named");
}

void backup_database(const std::filesystem::path& path, const std::filesystem::path& copy) {
  std::error_code error;
  if (std::filesystem::exists(std::filesystem::symlink_status(copy, error)))
    Temporary::throw_taken(copy);
  const auto source = open_as_it_is(path);
  make_database(path, copy, [&](SQLite::Database& target) {
    copy_pages(*source, target, [] { fault_point("backup_half"); });
  });
}

std::filesystem::path keep_copy(const std::filesystem::path& path, int schema) {
  const std::string first = fmt::format("{}.schema-{}", path.string(), schema);
  std::error_code error;
  std::filesystem::path copy = first;
  for (int number = 2; std::filesystem::exists(copy, error); ++number)
    copy = fmt::format("{}.{}", first, number);
  backup_database(path, copy);
  return copy;
}

}  // namespace fa_tune::db
