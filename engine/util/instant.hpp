#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace fa_tune {

// Instants as the database has them: UTC in ISO 8601, "2026-01-02T03:04:05.678Z".
std::string instant_text(std::chrono::system_clock::time_point instant);
// Also without a fraction of a second. Nothing for any other text.
std::optional<std::chrono::system_clock::time_point> instant_of(std::string_view text);

}  // namespace fa_tune
