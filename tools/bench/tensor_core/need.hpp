#pragma once

#include <expected>

#include "engine/base/error.hpp"
#include "engine/device/device.hpp"

namespace fa_tune::bench {

// Throws MachineError with what the device says.
inline void need(const std::expected<void, Fault>& outcome) {
  if (!outcome) throw MachineError(outcome.error().message);
}

}  // namespace fa_tune::bench
