#include "engine/util/log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "engine/util/printable.hpp"

namespace fa_tune {
namespace {

spdlog::logger& logger() {
  static const auto instance = [] {
    auto created = spdlog::stderr_color_mt("fa-tune");
    created->set_pattern("%^%v%$");
    return created;
  }();
  return *instance;
}

spdlog::level::level_enum translate(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

}  // namespace

void set_log_level(LogLevel level) { logger().set_level(translate(level)); }

bool is_logged(LogLevel level) { return logger().should_log(translate(level)); }

// What is told may quote a stranger's text.
void log_line(LogLevel level, const std::string& text) {
  logger().log(translate(level), VisibleText().take(text));
}

}  // namespace fa_tune
