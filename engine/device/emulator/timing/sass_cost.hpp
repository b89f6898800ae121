#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "engine/device/emulator/target/profile.hpp"
#include "engine/device/emulator/timing/pseudo_sass.hpp"
#include "engine/device/emulator/timing/sass.hpp"

namespace fa_tune::emulator {

// The kinds of machine instruction that do the work of a PTX instruction. `wanted`: without one of
// them its block cannot be told.
struct Carrier {
  std::array<SassKind, 3> kinds{};
  std::size_t count = 0;
  bool wanted = true;

  bool has(SassKind kind) const {
    return std::find(kinds.begin(), kinds.begin() + count, kind) != kinds.begin() + count;
  }
};

Carrier carrier_of(const Cost& cost);

// Whether it happens when the trace says so, and in the order that it says.
bool in_order(const Cost& cost);

// What a machine instruction costs that takes time alone.
Cost cost_of(SassKind kind, const DeviceProfile& profile);

}  // namespace fa_tune::emulator
