#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include <unistd.h>

// What tests of several parts need.

namespace fa_tune::test {

// A folder of its own, which no other test or process uses, gone with the object.
class ScratchFolder {
 public:
  ScratchFolder() : ScratchFolder(std::filesystem::temp_directory_path()) {}
  explicit ScratchFolder(const std::filesystem::path& where) {
    std::string name = (where / "fa_tune_test.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder " + name);
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Where files live in memory, if the machine has such a place: for tests that sync files thousands
// of times. A process that is killed loses nothing there either.
inline std::filesystem::path memory_folder() {
  const std::filesystem::path shared = "/dev/shm";
  return access(shared.c_str(), W_OK) == 0 ? shared : std::filesystem::temp_directory_path();
}

// What the error that `action` throws says.
template <typename Error, typename Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// What ctest takes for 'skipped': SKIP_RETURN_CODE in tests/CMakeLists.txt.
inline constexpr int kSkipped = 77;
inline bool something_skipped = false;

// Whether what is random is to be tried 200 times and not as often as a usual run has time for.
inline bool thorough() { return std::getenv("FA_TUNE_THOROUGH") != nullptr; }

// For a case that cannot be tried here; it returns then. Such cases are in the suite "conditional",
// which is a test of its own (CONDITIONAL in fa_tune_test), so that it hides nothing that was
// tried.
inline void skip(const std::string& why) {
  something_skipped = true;
  std::printf("SKIPPED: %s\n", why.c_str());
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace fa_tune::test
