#include "engine/device/emulator/warp/call_ops.hpp"

#include <bit>

#include "engine/device/emulator/state/cta.hpp"

namespace fa_tune::emulator {

// r[0]: a predicate of the lanes whose indirect call has nowhere to go, or would enter a function
// that they are in; m[0]: it is negated.
void run_wrong_call(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  const std::uint32_t word = lanes.predicates[op.r[0]];
  const std::uint32_t wrong = mask & (op.m[0] != 0 ? ~word : word);
  if (wrong == 0) return;
  const Warp& warp = warp_of(lanes);
  warp.cta->report(DiagnosticKind::trap, warp, op, std::countr_zero(wrong),
                   "the address it calls is of no function of that form, or of one that calls "
                   "itself, which the emulator does not know");
}

}  // namespace fa_tune::emulator
