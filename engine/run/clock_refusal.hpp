#pragma once

#include <string>

namespace fa_tune {

// Why a time does not count, as a trial's row has it: a Finding or a FaultKind in words.
struct ClockRefusal {
  std::string finding;
  std::string message;
};

}  // namespace fa_tune
