#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fa_tune {

// How a trial ended. The stage that it reached and, if it failed, the reason stand beside it.
enum class Outcome : std::uint8_t {
  passed,     // every check, and it was timed
  failed,     // at one stage, which ended the trial
  duplicate,  // of an earlier trial's kernel, so it was not run
};
inline constexpr Outcome kLastOutcome = Outcome::duplicate;

// "passed", "failed", "duplicate": as the database, JSON and the proposer protocol have it.
std::string to_text(Outcome outcome);
std::optional<Outcome> outcome_of(std::string_view text);

}  // namespace fa_tune
