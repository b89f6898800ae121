#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "engine/device/emulator/timing/pseudo_sass.hpp"

namespace fa_tune::emulator {

// What a warp waited for when it could not issue.
enum class Wait : std::uint8_t {
  arithmetic,  // a result of the fma, alu or half pipe, or a fixed time that ptxas wrote down
  special,     // a result of the special-function unit
  tensor,      // a result of the tensor cores
  shared,      // a result from shared memory or another lane
  global,      // a result from global memory
  async,       // asynchronous copies
  barrier,     // other warps
  unit,        // its unit was busy; shared memory's counts as `shared`
  issue,       // another warp had the scheduler, or its code was not there
  count,
};
inline constexpr std::size_t kWaitCount = static_cast<std::size_t>(Wait::count);
const char* name_of(Wait wait);

// Of one SM's part of a launch.
struct SmTime {
  double clocks = 0;
  double end_clocks = 0;    // from the last warp's end until what the launch has stored is seen
  double warps = 0;         // simulated, for averages
  double instructions = 0;  // issued in the part that was simulated
  double share = 1;         // of the work that was simulated; clocks are for the whole
  // Of the part that was simulated.
  std::array<double, kUnitCount> busy{};   // clocks of one unit; of four where there are four
  double issues = 0;                       // slots
  double l2_busy = 0;                      // clocks in which sectors came or went
  std::array<double, kWaitCount> waits{};  // clocks, summed over warps
};

// In between, in everything.
inline SmTime mean_of(SmTime a, const SmTime& b) {
  const auto mean = [](double& to, double other) { to = std::midpoint(to, other); };
  mean(a.clocks, b.clocks);
  mean(a.end_clocks, b.end_clocks);
  mean(a.warps, b.warps);
  mean(a.instructions, b.instructions);
  mean(a.share, b.share);
  mean(a.issues, b.issues);
  mean(a.l2_busy, b.l2_busy);
  for (std::size_t i = 0; i < kUnitCount; ++i) mean(a.busy[i], b.busy[i]);
  for (std::size_t i = 0; i < kWaitCount; ++i) mean(a.waits[i], b.waits[i]);
  return a;
}

}  // namespace fa_tune::emulator
