#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/kernel_image.hpp"

namespace fa_tune::kernel {

constexpr std::size_t kLogLimit = std::size_t{64} * 1024;  // bytes kept of a compiler's log

// What a log of NVRTC says. The wording is that of NVRTC and ptxas 12 and 13 with
// --ptxas-options=-v, as recorded in this part's tests.
struct LogFacts {
  KernelResources resources;          // of the one kernel asked for; -1 where the log is silent
  std::vector<std::string> warnings;  // one line each, at most 64; "C7510: ..." where numbered
  std::string first_error;            // one line; empty if there is none
};

LogFacts read_compiler_log(std::string_view log, std::string_view kernel);

// The beginning of the log, at most kLogLimit bytes, ending with a line that says how much was cut.
std::string clip_log(std::string log);

}  // namespace fa_tune::kernel
