#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/measure/statistics.hpp"
#include "engine/model/kernel_image.hpp"

namespace fa_tune {

// What `fa-tune check` holds kernels against, as a JSON file for a repository: where and by what
// they were measured, and of each its text at that time, so that it can be raced beside what the
// file holds later.
struct BaselineKernel {
  std::string file;  // an exported .cu, from the baseline's folder
  std::string text;  // all of it
  Interval time_us;  // as it was; for a person to see how the machine has changed
  KernelResources resources;
};

struct Baseline {
  std::string device;     // its name
  std::string time_kind;  // "measured", "predicted"
  std::string compiler;   // NVRTC and its version
  std::vector<BaselineKernel> kernels;
};

std::string to_json(const Baseline& baseline);

// The inverse. Throws UserError that names the file for what to_json did not make.
Baseline parse_baseline(const std::string& text, const std::filesystem::path& file);

}  // namespace fa_tune
