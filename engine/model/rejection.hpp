#pragma once

#include <cstddef>
#include <string>

namespace fa_tune {

// Why a kernel was rejected, as a trial's row has it.
struct Rejection {
  std::string finding;  // a Finding, a FaultKind in words, or what a stage calls it
  std::string message;  // one line
};

// The same of one of several that are compared.
struct RejectedContestant {
  std::size_t contestant = 0;  // its place among those that were given
  Rejection rejection;
};

}  // namespace fa_tune
