#pragma once

#include <string>
#include <vector>

namespace fa_tune::terminal {

enum class Color { none, good, bad, faint };

// A stretch of a line, all in one color. Its text is printable ASCII: a column each.
struct Piece {
  std::string text;
  Color color = Color::none;
};
using Line = std::vector<Piece>;

std::size_t columns_of(const Line& line);
// At most `columns` of the line; what is cut off is marked by "...", where there is room for that.
Line cut(const Line& line, std::size_t columns);
// As bytes for a terminal, or without colors for anything else.
std::string drawn(const Line& line, bool colored);

// What standard error is, as the environment and the system have it.
struct Screen {
  // A terminal whose cursor can be moved: not one that calls itself dumb.
  bool live = false;
  // Live, and nobody asked for none (no-color.org).
  bool colored = false;

  static Screen of_stderr();
};

// Of the terminal as it is now. 80 where the system does not tell.
std::size_t columns_of_stderr();

}  // namespace fa_tune::terminal
