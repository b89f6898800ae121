#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/device/device.hpp"

namespace fa_tune {

// A kernel in a file of the user's own: CUDA C++ that NVRTC compiles, or PTX as it is.
struct SourceFile {
  std::filesystem::path file;        // .cu or .ptx
  std::string kernel;                // an entry; in CUDA C++ an extern "C" __global__ function
  std::vector<std::string> defines;  // NAME or NAME=VALUE
  std::vector<std::filesystem::path> include;
  bool line_info = false;
};

// The image for a device. CUDA C++ is compiled for the device's architecture, for sm_90a where that
// is sm_90, so that Hopper's own instructions are there; its #include "..." are looked for beside
// the file, then in `include`, then where NVRTC's own headers are. Throws UserError for a file that
// cannot be read, is neither, or does not compile, and MachineError where there is no NVRTC.
KernelImage image_of(const SourceFile& source, const DeviceInfo& device);

}  // namespace fa_tune
