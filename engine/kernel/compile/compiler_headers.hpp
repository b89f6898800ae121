#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fa_tune::kernel {

// What a kernel's file may include. NVRTC has no host and brings no header along, while files that
// were written for nvcc name <stdio.h>, <stdint.h> or <math.h> out of habit.

// Text that stands in for a header of the host's. It has what a kernel can use: types, limits,
// constants and functions that NVRTC has anyway. Those of C++ (<limits>, <type_traits>, ...) are
// libcu++'s, which the toolkit has, under std.
struct HeaderText {
  std::string name;
  std::string text;
};
const std::vector<HeaderText>& host_headers();

// Those of them whose names a CUDA text uses without an #include, as nvcc lets it: int64_t,
// INFINITY. A name that the text defines is its own.
std::vector<std::string> headers_nvcc_includes(const std::string& source_text);

// The toolkit's folder of headers that belongs to an NVRTC: beside the folder it lies in, as in a
// toolkit and in NVIDIA's wheels; FA_TUNE_CUDA_INCLUDE names another. Empty where there is none.
std::filesystem::path toolkit_headers(const std::filesystem::path& nvrtc);

// A digest of those of its headers that kernels include most; empty where there is no folder. A
// toolkit and NVIDIA's wheels of one version have the same.
std::string headers_digest(const std::filesystem::path& toolkit);

// NVRTC's options for it. Headers that name others beside them are looked up in those folders too:
// where a source lies is no place to look (nvrtc_compiler.cpp).
std::vector<std::string> include_options(const std::filesystem::path& toolkit);

}  // namespace fa_tune::kernel
