#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "tools/terminal/line.hpp"

namespace fa_tune::terminal {

// One line at the end of what a terminal shows, drawn again and again in its place, each time for the
// width that the terminal has then. Lines of the log that come meanwhile go above it. The cursor waits at the line's beginning: where a
// terminal becomes narrower and wraps what stands there, the next drawing still begins at its
// first row and leaves nothing behind.
class LiveLine {
 public:
  // `make` gives the line for a number of columns. Any thread may call it, never two at a time.
  LiveLine(Screen screen, std::function<Line(std::size_t columns)> make);
  // Leaves the line as it was drawn last, and the cursor below it.
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void draw();
  // Writes a line that stays, above the live one.
  void say(const std::string& text);

 private:
  void draw_locked();
  void write_above(const std::function<void()>& write);

  Screen screen_;
  std::function<Line(std::size_t columns)> make_;
  std::mutex mutex_;
  bool drawn_ = false;
};

}  // namespace fa_tune::terminal
