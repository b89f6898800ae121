#include "engine/gate/gate.hpp"

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
    case Finding::not_deterministic:
      return "not_deterministic";
    case Finding::not_bound:
      return "not_bound";
  }
  return "unknown";
}

}  // namespace fa_tune
