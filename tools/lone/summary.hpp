#pragma once

#include <string>

#include "tools/lone/run.hpp"

namespace fa_tune {

// "argument 2  out:f32[64x64]  min -3.1  max 2.9  mean 0.01  sha256 1f2e...": one line for a person
// and, in its hash, for a script that compares. NaN and infinities are counted, not averaged.
std::string summary_of(const ArgumentSpec& spec, const LoneOutput& output);

}  // namespace fa_tune
