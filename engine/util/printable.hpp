#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace fa_tune {

// Bytes from a stranger as text that a terminal, a log and a database can take: well-formed UTF-8
// stays; every other byte, every control character and what turns the direction of writing becomes
// '?'. Longer than `most` bytes, it is cut at a character and ends in "...".
std::string printable(std::string_view bytes, std::size_t most);

// What a message quotes of a stranger's text.
inline constexpr std::size_t kLongestQuote = 60;
// What it repeats of a library's, which quotes for its part.
inline constexpr std::size_t kLongestReason = 160;

// A message as one line for a person: printable, and quotes that whoever wrote it forgot to cut are
// cut here. What is quoted stands between apostrophes that no letter precedes.
std::string message_line(std::string_view message);

// printable() for a stream that comes in pieces, whole and with its line ends and tabs: a character
// that a piece cuts waits for the next.
class VisibleText {
 public:
  std::string take(std::string_view piece);

 private:
  std::string begun_;
};

// The first byte with which no well-formed UTF-8 character begins; nothing where all is UTF-8.
std::optional<std::size_t> first_not_utf8(std::string_view bytes);

}  // namespace fa_tune
