#include "engine/kernel/compile/compiler_headers.hpp"
#include "engine/util/environment.hpp"

namespace fa_tune {

namespace fs = std::filesystem;

fs::path toolkit_headers(const fs::path& nvrtc) {
  const auto holds_them = [](const fs::path& folder) {
    std::error_code error;
    return fs::is_regular_file(folder / "cuda_fp16.h", error);
  };
  if (const std::string named = environment("FA_TUNE_CUDA_INCLUDE"); !named.empty()) return named;
  // A toolkit's lib64 may be a link; its include folder is one beside either.
  std::error_code error;
  for (const fs::path& file : {nvrtc, fs::canonical(nvrtc, error)}) {
    const fs::path folder = file.parent_path().parent_path() / "include";
    // A distribution's own folder holds the host's headers, which NVRTC cannot read.
    if (folder != "/usr/include" && holds_them(folder)) return folder;
  }
  return {};
}

std::vector<std::string> include_options(const fs::path& toolkit) {
  std::vector<std::string> options;
  if (toolkit.empty()) return options;
  for (const char* const folder :
       {"", "cccl", "crt", "cooperative_groups", "cooperative_groups/details"}) {
    const fs::path path = *folder == 0 ? toolkit : toolkit / folder;
    std::error_code error;
    if (fs::is_directory(path, error)) options.push_back("--include-path=" + path.string());
  }
  return options;
}

}  // namespace fa_tune
