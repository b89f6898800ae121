#include "engine/util/environment.hpp"

#include <cstdlib>
#include <string>

namespace fa_tune {

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets it
  return value == nullptr ? "" : value;
}

namespace fs = std::filesystem;

fs::path root_above(fs::path folder) {
  std::error_code error;
  for (; !folder.empty(); folder = folder.parent_path()) {
    if (fs::is_directory(folder / "kernel_templates", error) &&
        fs::is_directory(folder / "search_spaces", error))
      return folder;
    if (folder == folder.root_path()) break;
  }
  return {};
}

fs::path find_root() {
  if (const std::string root = environment("FA_TUNE_ROOT"); !root.empty()) return root;
  std::error_code error;
  const fs::path found = root_above(fs::read_symlink("/proc/self/exe", error).parent_path());
  return found.empty() ? root_above(fs::current_path(error)) : found;
}

fs::path cache_folder() {
  if (const std::string given = environment("FA_TUNE_CACHE"); !given.empty()) return given;
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty())
    return fs::path(cache) / "fa-tune";
  if (const std::string home = environment("HOME"); !home.empty())
    return fs::path(home) / ".cache" / "fa-tune";
  return fs::temp_directory_path() / "fa-tune-cache";
}

}  // namespace fa_tune
