#pragma once

#include "engine/device/emulator/timing/pseudo_sass.hpp"

namespace fa_tune::emulator {

// A warpgroup's products read and write their sums in the registers that other instructions use
// too. What is issued in a partition meanwhile delays the products under way there: fma and add by
// 0.4 to 0.6 clocks each on an H200 (tools/bench/results/clock/microbench_h200.json, "beside").
// Beside products, instructions of the ALU's and the special unit's rate take 0.6 to 1.2 clocks
// longer themselves. Here that too is counted as a delay of the products: it ranks the variants of
// `tools/bench/emulator/clock/fresh` better, on which (with the first seed) these constants were
// set.
inline double delay_of_products(const Cost& cost) {
  constexpr double kIssued = 0.5;
  constexpr double kAlu = 1;
  constexpr double kSpecial = 1.5;
  const double slower = cost.unit == Unit::alu ? kAlu : cost.unit == Unit::special ? kSpecial : 0;
  return kIssued * cost.issues + slower;
}

}  // namespace fa_tune::emulator
