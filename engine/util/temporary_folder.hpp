#pragma once

#include <filesystem>

namespace fa_tune {

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
