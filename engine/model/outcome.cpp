#include "engine/model/outcome.hpp"

#include <array>

namespace fa_tune {
namespace {

// In the order of the enumeration.
constexpr std::array kOutcomeNames = {"passed", "failed", "duplicate"};
static_assert(kOutcomeNames.size() == static_cast<std::size_t>(kLastOutcome) + 1);

}  // namespace

std::string to_text(Outcome outcome) { return kOutcomeNames.at(static_cast<std::size_t>(outcome)); }

std::optional<Outcome> outcome_of(std::string_view text) {
  for (std::size_t i = 0; i < kOutcomeNames.size(); ++i)
    if (text == kOutcomeNames[i]) return static_cast<Outcome>(i);
  return std::nullopt;
}

}  // namespace fa_tune
