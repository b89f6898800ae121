#pragma once

#include <string>

namespace fa_tune {

// Why a kernel was rejected, as a trial's row has it.
struct Rejection {
  std::string finding;
  std::string message;  // one line
};

}  // namespace fa_tune
