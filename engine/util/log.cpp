#include "engine/util/log.hpp"

#include <memory>
#include <mutex>
#include <utility>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "engine/util/environment.hpp"
#include "engine/util/printable.hpp"

namespace fa_tune {
namespace {

spdlog::logger& logger() {
  static const auto instance = [] {
    const bool plain = !environment("NO_COLOR").empty();  // no-color.org
    auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(
        plain ? spdlog::color_mode::never : spdlog::color_mode::automatic);
    // What is all well needs no color.
    sink->set_color(spdlog::level::info, "");
    auto created = std::make_shared<spdlog::logger>("fa-tune", sink);
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

struct Surroundings {
  std::mutex mutex;
  std::function<void(const std::function<void()>&)> around;
};

Surroundings& surroundings() {
  static Surroundings instance;
  return instance;
}

}  // namespace

void set_log_surroundings(std::function<void(const std::function<void()>& write)> around) {
  const std::lock_guard lock(surroundings().mutex);
  surroundings().around = std::move(around);
}

void set_log_level(LogLevel level) { logger().set_level(translate(level)); }

bool is_logged(LogLevel level) { return logger().should_log(translate(level)); }

// What is told may quote a stranger's text.
void log_line(LogLevel level, const std::string& text) {
  if (!is_logged(level)) return;
  const auto write = [&] { logger().log(translate(level), VisibleText().take(text)); };
  const std::lock_guard lock(surroundings().mutex);
  if (surroundings().around)
    surroundings().around(write);
  else
    write();
}

}  // namespace fa_tune
