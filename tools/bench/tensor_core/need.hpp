#pragma once

#include <expected>

#include "engine/device/device.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::bench {

// Throws MachineError with what the device says.
inline void need(const std::expected<void, Fault>& outcome) {
  if (!outcome) throw MachineError(outcome.error().message);
}

}  // namespace fa_tune::bench
