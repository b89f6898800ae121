#include "tools/terminal/line.hpp"

#include <algorithm>

#include <sys/ioctl.h>
#include <unistd.h>

#include "engine/util/environment.hpp"

namespace fa_tune::terminal {
namespace {

constexpr std::size_t kUsualColumns = 80;

const char* sequence(Color color) {
  switch (color) {
    case Color::good:
      return "\x1b[32m";
    case Color::bad:
      return "\x1b[31m";
    case Color::faint:
      return "\x1b[2m";
    case Color::none:
      break;
  }
  return "";
}

}  // namespace

std::size_t columns_of(const Line& line) {
  std::size_t columns = 0;
  for (const Piece& piece : line) columns += piece.text.size();
  return columns;
}

Line cut(const Line& line, std::size_t columns) {
  if (columns_of(line) <= columns) return line;
  const std::string mark = columns > 8 ? "..." : "";
  std::size_t room = columns - mark.size();
  Line shown;
  for (const Piece& piece : line) {
    shown.push_back({piece.text.substr(0, room), piece.color});
    room -= shown.back().text.size();
    if (room == 0) break;
  }
  shown.push_back({mark, Color::none});
  return shown;
}

std::string drawn(const Line& line, bool colored) {
  std::string bytes;
  for (const Piece& piece : line) {
    const bool has_color = colored && piece.color != Color::none && !piece.text.empty();
    bytes += has_color ? sequence(piece.color) + piece.text + "\x1b[0m" : piece.text;
  }
  return bytes;
}

Screen Screen::of_stderr() {
  const std::string kind = environment("TERM");
  Screen screen;
  screen.live = isatty(STDERR_FILENO) == 1 && kind != "dumb";
  screen.colored = screen.live && environment("NO_COLOR").empty();
  return screen;
}

std::size_t columns_of_stderr() {
  winsize size{};
  const bool told = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return told ? size.ws_col : kUsualColumns;
}

}  // namespace fa_tune::terminal
