#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <vector>

namespace fa_tune::kernel {

// The C functions of NVRTC that are used, with the types nvrtc.h (11.1 and later) gives them;
// declared here because the program must build where no CUDA toolkit is.
struct NvrtcFunctions {
  using Program = void*;
  using Result = int;
  static constexpr Result kSuccess = 0;
  static constexpr Result kCompilationFailed = 6;
  static constexpr Result kOutOfMemory = 1;

  Result (*version)(int* major, int* minor) = nullptr;
  const char* (*error_string)(Result) = nullptr;
  Result (*create)(Program*, const char* source, const char* name, int headers,
                   const char* const* header_texts, const char* const* header_names) = nullptr;
  Result (*destroy)(Program*) = nullptr;
  Result (*add_name_expression)(Program, const char* expression) = nullptr;
  Result (*lowered_name)(Program, const char* expression, const char** name) = nullptr;
  Result (*compile)(Program, int count, const char* const* options) = nullptr;
  Result (*log_size)(Program, std::size_t*) = nullptr;
  Result (*log)(Program, char*) = nullptr;
  Result (*cubin_size)(Program, std::size_t*) = nullptr;
  Result (*cubin)(Program, char*) = nullptr;
  Result (*ptx_size)(Program, std::size_t*) = nullptr;
  Result (*ptx)(Program, char*) = nullptr;
};

struct NvrtcLibrary {
  NvrtcFunctions functions;
  std::string path;  // of the file that was loaded
  int major = 0;
  int minor = 0;
};

// Where NVRTC is looked for, in order; names without a folder are left to the loader. See
// open_nvrtc() for the order and what changes it.
std::vector<std::string> nvrtc_candidates();

// The first candidate that loads and has the functions. It stays loaded until the process ends:
// NVRTC keeps threads and state of its own. The error lists every candidate with what was wrong
// with it.
std::expected<NvrtcLibrary, std::string> load_nvrtc();

}  // namespace fa_tune::kernel
