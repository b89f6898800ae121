#pragma once

#include <string>

#include "engine/device/emulator/state/cta.hpp"

namespace fa_tune::emulator {

// Says in the report of the CTA's cluster who waits for what.
void report_stuck(Cta& cta);
// The same where other blocks have not done what this one waits for; `why`: and never will.
void report_waiting(Cta& cta, const std::string& why);

}  // namespace fa_tune::emulator
