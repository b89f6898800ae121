#include "engine/gate/refusal.hpp"

namespace fa_tune {

std::string to_text(Finding finding) {
  switch (finding) {
    case Finding::right:
      return "right";
    case Finding::fault:
      return "fault";
    case Finding::not_finite:
      return "not_finite";
    case Finding::wrong:
      return "wrong";
    case Finding::imprecise:
      return "imprecise";
    case Finding::guard_damaged:
      return "guard_damaged";
    case Finding::input_changed:
      return "input_changed";
    case Finding::stale:
      return "stale";
    case Finding::not_deterministic:
      return "not_deterministic";
    case Finding::too_fast:
      return "too_fast";
    case Finding::lives_on_memory:
      return "lives_on_memory";
    case Finding::not_bound:
      return "not_bound";
  }
  return "unknown";
}

Refusal refusal_of(const Fault& fault) {
  const bool never_ran = fault.kind == FaultKind::load_failed ||
                         fault.kind == FaultKind::unknown_instruction ||
                         fault.kind == FaultKind::resources;
  return {.finding = never_ran ? Finding::not_bound : Finding::fault,
          .message = to_text(fault.kind) + ": " + fault.message};
}

}  // namespace fa_tune
