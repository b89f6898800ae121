#include "engine/util/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/util/error.hpp"
#include "engine/util/fault_point.hpp"
#include "engine/util/hash.hpp"

namespace fa_tune {

namespace {

// Closes it, whatever is thrown meanwhile.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

[[noreturn]] void refuse_to_read(const std::filesystem::path& path, int reason) {
  throw UserError(path.string() + ": cannot be read: " + std::strerror(reason));
}

}  // namespace

std::string bytes_in_words(std::uintmax_t bytes) {
  constexpr std::uintmax_t kStep = 1024;
  for (const char* const unit : {"bytes", "KiB", "MiB"}) {
    if (bytes < kStep || bytes % kStep != 0) return std::to_string(bytes) + " " + unit;
    bytes /= kStep;
  }
  return std::to_string(bytes) + " GiB";
}

namespace {

// Hands `take` the file in order: first its size, then its bytes.
void read_pieces(const std::filesystem::path& path, const FileKind& kind,
                 const std::function<void(std::size_t)>& start,
                 const std::function<void(std::string_view)>& take) {
  // To open a pipe waits for who writes to it, unless one says not to.
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  struct stat there {};
  if (file.number < 0 || fstat(file.number, &there) != 0) refuse_to_read(path, errno);
  if (S_ISDIR(there.st_mode)) throw UserError(path.string() + ": is a folder, expected a file");
  if (!S_ISREG(there.st_mode))
    throw UserError(path.string() + ": is not a plain file, expected one");
  auto left = static_cast<std::uintmax_t>(there.st_size);
  if (left > kind.most)
    throw UserError(path.string() + ": is larger than " + bytes_in_words(kind.most) +
                    ", the most that is read of " + std::string(kind.name));
  start(left);
  std::string piece(std::min<std::uintmax_t>(left, kMebibyte), '\0');
  // What is written to it meanwhile is not read.
  while (left > 0) {
    const ssize_t got =
        read(file.number, piece.data(), std::min<std::uintmax_t>(left, piece.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw MachineError(path.string() + ": reading failed: " + std::strerror(errno));
    if (got == 0) return;  // it was cut meanwhile
    take(std::string_view(piece).substr(0, static_cast<std::size_t>(got)));
    left -= static_cast<std::uintmax_t>(got);
  }
}

}  // namespace

std::string read_file(const std::filesystem::path& path, const FileKind& kind) {
  std::string text;
  read_pieces(
      path, kind, [&](std::size_t size) { text.reserve(size); },
      [&](std::string_view piece) { text += piece; });
  return text;
}

std::string sha256_of_file(const std::filesystem::path& path, const FileKind& kind) {
  Sha256 digest;
  read_pieces(
      path, kind, [](std::size_t) {}, [&](std::string_view piece) { digest.add(piece); });
  return digest.hex();
}

namespace {

// A full or failing disk is the machine's fault, a name that cannot be is the user's.
bool is_the_machines(int reason) {
  switch (reason) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO:
    case ENFILE:
    case EMFILE:
    case ENOMEM:
      return true;
    default:
      return false;
  }
}

[[noreturn]] void refuse(const std::filesystem::path& path, int reason) {
  const std::string message = path.string() + ": cannot be written: " + std::strerror(reason);
  if (is_the_machines(reason))
    throw MachineError(message + "; what was there before, if anything, is as it was");
  throw UserError(message);
}

// Where a link leads to, which stays one.
std::filesystem::path followed(const std::filesystem::path& path) {
  std::error_code none;
  if (!std::filesystem::is_symlink(path, none)) return path;
  const auto target = std::filesystem::weakly_canonical(path, none);
  return none ? path : target;
}

mode_t mode_of(const std::filesystem::path& path) {
  constexpr mode_t kUsual = 0644, kPermissions = 07777;
  struct stat there {};
  return stat(path.c_str(), &there) == 0 ? there.st_mode & kPermissions : kUsual;
}

// So that a new name outlives a failing machine. Not every file system can.
void sync_folder(const std::filesystem::path& path) {
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

}  // namespace

void write_file(const std::filesystem::path& name, std::string_view bytes) {
  const std::filesystem::path path = followed(name);
  std::string temporary = path.string() + ".XXXXXX";
  const int descriptor = mkstemp(temporary.data());
  if (descriptor < 0) refuse(path, errno);
  const auto give_up = [&] {
    const int reason = errno;
    close(descriptor);
    unlink(temporary.c_str());
    refuse(path, reason);
  };
  fault_point("file_made");
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) give_up();
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  fault_point("file_written");
  if (fchmod(descriptor, mode_of(path)) != 0 || fsync(descriptor) != 0) give_up();
  fault_point("file_synced");
  if (rename(temporary.c_str(), path.c_str()) != 0) give_up();
  close(descriptor);
  sync_folder(path);
  fault_point("file_named");
}

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const auto parent = std::filesystem::temp_directory_path(error);
  std::string name = ((error ? "/tmp" : parent) / "fa-tune-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    throw MachineError("no folder could be made as " + name + ": " + std::strerror(errno));
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace fa_tune
