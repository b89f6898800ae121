#pragma once

#include <functional>
#include <string>

#include <fmt/core.h>

namespace fa_tune {

// Talk for a person, on standard error. Data never goes through here: it belongs to standard
// output.
enum class LogLevel { debug, info, warning, error };

// What is below it is not shown; info until it is set. The program sets it once, from --log-level.
void set_log_level(LogLevel level);
bool is_logged(LogLevel level);
void log_line(LogLevel level, const std::string& text);
// For who draws on the same terminal: from now on `around` is called in place of each writing, and
// calls what it is given, which writes. It must not log. An empty one ends that.
void set_log_surroundings(std::function<void(const std::function<void()>& write)> around);

template <typename... Args>
void log_debug(fmt::format_string<Args...> text, Args&&... args) {
  if (is_logged(LogLevel::debug))
    log_line(LogLevel::debug, fmt::format(text, std::forward<Args>(args)...));
}
template <typename... Args>
void log_info(fmt::format_string<Args...> text, Args&&... args) {
  log_line(LogLevel::info, fmt::format(text, std::forward<Args>(args)...));
}
template <typename... Args>
void log_warning(fmt::format_string<Args...> text, Args&&... args) {
  log_line(LogLevel::warning, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace fa_tune
