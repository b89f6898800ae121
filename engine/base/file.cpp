#include "engine/base/file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.hpp"
#include "engine/base/fault_point.hpp"

namespace fa_tune {

std::string read_file(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path))
    throw UserError(path.string() + ": is a folder, expected a file");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw UserError(path.string() + ": cannot be read: " + std::strerror(errno));
  std::ostringstream text;
  text << stream.rdbuf();
  if (stream.bad()) throw MachineError(path.string() + ": reading failed: " + std::strerror(errno));
  return std::move(text).str();
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

}  // namespace

void write_file(const std::filesystem::path& path, std::string_view bytes) {
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
  if (fchmod(descriptor, 0644) != 0 || fsync(descriptor) != 0) give_up();
  fault_point("file_synced");
  if (rename(temporary.c_str(), path.c_str()) != 0) give_up();
  close(descriptor);
  fault_point("file_named");
}

}  // namespace fa_tune
