#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace fa_tune {

// The most that is read of a file, by what it is: files come from strangers, and a small one may
// stand for more than the machine holds. What unpacks, nests or repeats has limits of its own:
// gzip.hpp, json_limits.hpp, yaml.hpp.
struct FileKind {
  std::string_view name;
  std::uintmax_t most;  // bytes
};
inline constexpr std::uintmax_t kMebibyte = std::uintmax_t{1} << 20;
inline constexpr FileKind kAnyFile = {"a file", 64 * kMebibyte};
inline constexpr FileKind kYamlFile = {"a YAML file", kMebibyte};
inline constexpr FileKind kSourceFile = {"a CUDA source", kMebibyte};
inline constexpr FileKind kExportedFile = {"an exported kernel", 8 * kMebibyte};
inline constexpr FileKind kJsonFile = {"a JSON file", 16 * kMebibyte};
inline constexpr FileKind kProgramFile = {"a kernel's file", 32 * kMebibyte};
inline constexpr FileKind kTableFile = {"a table", 256 * kMebibyte};  // unpacked too
inline constexpr FileKind kArrayFile = {"an array", 4096 * kMebibyte};

// The whole file as bytes. Reads regular files alone, symbolic links followed: a pipe or a device
// has no end. Throws UserError that names the file and what is wrong with it.
std::string read_file(const std::filesystem::path& path, const FileKind& kind = kAnyFile);
// The same without holding it: its SHA-256, as sha256() gives it.
std::string sha256_of_file(const std::filesystem::path& path, const FileKind& kind = kAnyFile);

// "2 GiB", "256 KiB": the largest unit that leaves a whole number.
std::string bytes_in_words(std::uintmax_t bytes);

// Writes to a temporary file beside it and renames, so that a reader sees the old content or the
// new, never a part, whatever happens to the machine. A symbolic link is followed and a file that
// is replaced keeps its permissions. Throws UserError where the folder does not exist or may not be
// written, and MachineError where the disk is full.
void write_file(const std::filesystem::path& name, std::string_view bytes);

// An empty folder of its own that nobody but this user can read, gone with all in it when this
// object goes.
class TemporaryFolder {
 public:
  // Under TMPDIR or /tmp. Throws MachineError where none can be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace fa_tune
