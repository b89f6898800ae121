#pragma once

#include <string>

#include "engine/search/analysis/insights.hpp"

namespace fa_tune {

// An insight in one sentence, with how sure it is. `prefix` stands before a saving: "" for measured
// times, "predicted " for predicted ones.
std::string words(const Effect& effect, const std::string& prefix);
std::string words(const Interaction& interaction, const std::string& prefix);
std::string words(const FailureInsight& failure);
std::string words(const OperatorGain& gain, const std::string& prefix);

}  // namespace fa_tune
