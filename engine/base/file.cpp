#include "engine/base/file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.hpp"

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

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::string temporary = path.string() + ".XXXXXX";
  const int descriptor = mkstemp(temporary.data());
  if (descriptor < 0)
    throw UserError(path.string() + ": cannot be written: " + std::strerror(errno));
  const auto fail = [&](const char* what) {
    const std::string reason = std::strerror(errno);
    close(descriptor);
    unlink(temporary.c_str());
    throw MachineError(path.string() + ": " + what + " failed: " + reason);
  };
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("writing");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (fchmod(descriptor, 0644) != 0) fail("setting permissions");
  if (fsync(descriptor) != 0) fail("syncing");
  close(descriptor);
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    unlink(temporary.c_str());
    throw UserError(path.string() + ": cannot be written: " + reason);
  }
}

}  // namespace fa_tune
