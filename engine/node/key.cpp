#include "engine/node/key.hpp"

#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <fmt/core.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/util/error.hpp"
#include "engine/util/file.hpp"

namespace fa_tune::node {
namespace {

constexpr FileKind kKeyFile = {"a key", 4096};
constexpr mode_t kOwnersAlone = S_IRUSR | S_IWUSR;

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// False where there is a file of that name.
bool make_key(const std::filesystem::path& file) {
  Key key{};
  if (RAND_priv_bytes(key.data(), static_cast<int>(key.size())) != 1)
    throw MachineError("OpenSSL could not draw a random key");
  std::string text;
  for (const unsigned char byte : key) text += fmt::format("{:02x}", byte);
  text += '\n';
  const int made = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnersAlone);
  if (made < 0 && errno == EEXIST) return false;
  if (made < 0)
    throw UserError(
        fmt::format("{}: a key cannot be kept there: {}", file.string(), std::strerror(errno)));
  const bool whole = write(made, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int reason = errno;
  if (close(made) == 0 && whole) return true;
  unlink(file.c_str());
  throw MachineError(
      fmt::format("{}: a key cannot be written: {}", file.string(), std::strerror(reason)));
}

}  // namespace

Key read_key(const std::filesystem::path& file) {
  const std::string text = read_file(file, kKeyFile);
  struct stat facts {};
  if (stat(file.c_str(), &facts) != 0 || (facts.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    throw UserError(file.string() +
                    ": others may read this key: make a new one, or, if nobody has, "
                    "chmod 600 it");
  Key key{};
  bool good = text.size() == 2 * key.size() + 1 && text.back() == '\n';
  for (std::size_t i = 0; good && i < key.size(); ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    good = high >= 0 && low >= 0;
    key[i] = static_cast<unsigned char>(high * 16 + low);
  }
  if (!good)
    throw UserError(
        fmt::format("{}: is no key: expected {} hexadecimal digits, in lower case, on "
                    "one line, as `evolve --listen` writes them",
                    file.string(), 2 * key.size()));
  return key;
}

Key read_or_make_key(const std::filesystem::path& file) {
  make_key(file);
  return read_key(file);
}

}  // namespace fa_tune::node
