#include "db/run_lease.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/util/error.hpp"

namespace fa_tune::db {
namespace {

// Where a holder writes its process number for the others' messages: bytes a run.
constexpr std::int64_t kNote = 16;

flock one_byte(short type, std::int64_t byte) {
  flock range{};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = 1;
  return range;
}

// Locks of an open file, not of a process: SQLite's own locks on other files cannot be lost by
// them, and two leases of one process exclude each other too.
int lock(int descriptor, int command, short type, std::int64_t byte) {
  flock range = one_byte(type, byte);
  int result = 0;
  do {
    result = fcntl(descriptor, command, &range);
  } while (result != 0 && errno == EINTR);
  return result;
}

bool is_at(int descriptor, const std::string& file) {
  struct stat held {};
  struct stat named {};
  return fstat(descriptor, &held) == 0 && stat(file.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

// A file with a second name is somebody's, too.
bool is_plain(int descriptor) {
  struct stat held {};
  return fstat(descriptor, &held) == 0 && S_ISREG(held.st_mode) && held.st_nlink <= 1;
}

std::string holder(int descriptor, std::int64_t run) {
  char text[kNote] = {};
  if (pread(descriptor, text, sizeof text - 1, run * kNote) <= 0) return "another process";
  return fmt::format("process {}", text);
}

// SQLite keeps its log beside the file itself, not beside a link to it; so must we.
std::string beside(const std::filesystem::path& database) {
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(database, error);
  return (error ? database : real).string() + "-runs";
}

}  // namespace

RunLease::RunLease(const std::filesystem::path& database, std::int64_t run)
    : file_(beside(database)), run_(run) {
  open_shared();
  if (lock(descriptor_, F_OFD_SETLK, F_WRLCK, run) != 0) {
    const int reason = errno;
    const std::string who = holder(descriptor_, run);
    close(descriptor_);
    if (reason == EAGAIN || reason == EACCES)
      throw UserError(
          fmt::format("{}: {} is working on run {} at this moment; wait for it or end it",
                      database.string(), who, run));
    throw MachineError(fmt::format("{}: cannot be locked: {}; a database must be on a local disk",
                                   file_, std::strerror(reason)));
  }
  const std::string note = std::to_string(getpid());
  // A message's detail: without it the message says 'another process'.
  [[maybe_unused]] const auto noted =
      pwrite(descriptor_, note.c_str(), note.size() + 1, run * kNote);
}

RunLease::RunLease(RunLease&& other) noexcept
    : file_(std::move(other.file_)),
      run_(other.run_),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

RunLease::~RunLease() {
  if (descriptor_ < 0) return;
  lock(descriptor_, F_OFD_SETLK, F_UNLCK, run_);
  // To have the shared byte for oneself is to be the last.
  if (lock(descriptor_, F_OFD_SETLK, F_WRLCK, 0) == 0) unlink(file_.c_str());
  close(descriptor_);
}

std::string RunLease::holder_of(const std::filesystem::path& database, std::int64_t run) {
  const int descriptor =
      open(beside(database).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return {};
  flock range = one_byte(F_RDLCK, run);
  const bool held = fcntl(descriptor, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
  std::string who = held ? holder(descriptor, run) : "";
  close(descriptor);
  return who;
}

// Who was last may take the file away between our opening and locking it: then there is a new one.
void RunLease::open_shared() {
  for (;;) {
    // A link there is somebody's: to follow it would write into another file of the user's.
    descriptor_ = open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (descriptor_ >= 0 && !is_plain(descriptor_)) {
      close(descriptor_);
      throw UserError(file_ +
                      ": is not a plain file; a lock of fa-tune's belongs there, take it away");
    }
    if (descriptor_ < 0 && errno == ELOOP)
      throw UserError(file_ +
                      ": is a symbolic link; a lock of fa-tune's belongs there, take it away");
    if (descriptor_ < 0)
      throw UserError(fmt::format("{}: cannot be made: {}; check the permissions of its folder",
                                  file_, std::strerror(errno)));
    if (lock(descriptor_, F_OFD_SETLKW, F_RDLCK, 0) != 0) {
      const int reason = errno;
      close(descriptor_);
      throw MachineError(fmt::format("{}: cannot be locked: {}; a database must be on a local disk",
                                     file_, std::strerror(reason)));
    }
    if (is_at(descriptor_, file_)) return;
    close(descriptor_);
  }
}

}  // namespace fa_tune::db
