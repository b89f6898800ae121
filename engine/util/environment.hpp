#pragma once

#include <filesystem>
#include <string>

namespace fa_tune {

// The value of an environment variable; empty if it is not set.
std::string environment(const char* name);

// The folder that holds kernel_templates and search_spaces: FA_TUNE_ROOT if set, else the nearest
// folder above the running program, else above the current folder. Empty if there is none.
std::filesystem::path find_root();
// The folder or the nearest above it that has both. Empty if there is none.
std::filesystem::path root_above(std::filesystem::path folder);

// Where compiled kernels are kept between runs: FA_TUNE_CACHE if set, else fa-tune under
// XDG_CACHE_HOME, else ~/.cache/fa-tune, else a folder for temporary files. It is safe to delete.
std::filesystem::path cache_folder();

}  // namespace fa_tune
