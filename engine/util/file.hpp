#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace fa_tune {

// The whole file as bytes. Throws UserError that names the file and what is wrong with it.
std::string read_file(const std::filesystem::path& path);

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
