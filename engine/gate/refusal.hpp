#pragma once

#include <string>

#include "engine/device/device.hpp"
#include "engine/gate/gate.hpp"

namespace fa_tune {

// Why a check stopped.
struct Refusal {
  Finding finding = Finding::right;
  std::string message;  // one line
};

// not_bound for a kernel that never ran, fault for the rest.
Refusal refusal_of(const Fault& fault);

}  // namespace fa_tune
