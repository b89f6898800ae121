#include "tools/terminal/live_line.hpp"

#include <cstdio>

#include "engine/util/log.hpp"

namespace fa_tune::terminal {
namespace {

constexpr const char* kToBeginning = "\r";
// To the end of the screen: a line that was wrapped has several rows.
constexpr const char* kClearRest = "\x1b[J";

void put(const std::string& bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

LiveLine::LiveLine(Screen screen, std::function<Line(std::size_t)> make)
    : screen_(screen), make_(std::move(make)) {
  set_log_surroundings([this](const std::function<void()>& write) { write_above(write); });
}

LiveLine::~LiveLine() {
  set_log_surroundings({});
  const std::lock_guard lock(mutex_);
  if (!drawn_) return;
  draw_locked();
  put("\n");
}

void LiveLine::draw() {
  const std::lock_guard lock(mutex_);
  draw_locked();
}

void LiveLine::say(const std::string& text) {
  write_above([&text] { put(text + "\n"); });
}

// A column stays free: in the last one some terminals wrap already.
void LiveLine::draw_locked() {
  const std::size_t columns = columns_of_stderr() - 1;
  put(kToBeginning + drawn(cut(make_(columns), columns), screen_.colored) + kClearRest +
      kToBeginning);
  drawn_ = true;
}

void LiveLine::write_above(const std::function<void()>& write) {
  const std::lock_guard lock(mutex_);
  if (drawn_) put(std::string(kToBeginning) + kClearRest);
  write();
  if (drawn_) draw_locked();
}

}  // namespace fa_tune::terminal
