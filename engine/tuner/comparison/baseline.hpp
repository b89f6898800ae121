#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/measure/statistics.hpp"
#include "engine/model/kernel_image.hpp"

namespace fa_tune::tuner {

// What `fa-tune check` compares kernels with, as a JSON file for a repository. It says where and by
// what the kernels were measured, and has the text of each at that time, so that it can be raced
// beside the file's later contents.
struct BaselineKernel {
  std::string file;  // an exported .cu, from the baseline's folder
  std::string text;  // all of it
  Interval time_us;  // at that time; shows a person how the machine has changed
  KernelResources resources;
};

struct Baseline {
  std::string device;     // its name
  std::string time_kind;  // "measured", "predicted"
  std::string compiler;   // NVRTC and its version
  std::vector<BaselineKernel> kernels;
};

std::string to_json(const Baseline& baseline);

// The inverse. Throws UserError, which names the file, for text that to_json did not make.
Baseline parse_baseline(const std::string& text, const std::filesystem::path& file);

}  // namespace fa_tune::tuner
