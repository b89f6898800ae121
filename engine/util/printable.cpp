#include "engine/util/printable.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace fa_tune {
namespace {

unsigned byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

// Bytes of the character that begins at `at`; 0 where none does. Unicode 15, table 3-7: the second
// byte's range is what keeps overlong forms, surrogates and what is above U+10FFFF out.
std::size_t character(std::string_view bytes, std::size_t at) {
  const unsigned lead = byte_at(bytes, at);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (at + length > bytes.size()) return 0;
  unsigned low = 0x80;
  unsigned high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  if (byte_at(bytes, at + 1) < low || byte_at(bytes, at + 1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if ((byte_at(bytes, at + i) & 0xC0U) != 0x80) return 0;
  return length;
}

// Whether the bytes end within what may yet become a character.
bool is_begun(std::string_view bytes) {
  const unsigned lead = byte_at(bytes, 0);
  if (lead < 0xC2 || lead > 0xF4) return false;
  return bytes.size() < (lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4);
}

// The character that begins at `at`, or as many marks as it has bytes.
std::string_view visible(std::string_view bytes, std::size_t at, std::size_t length, bool stays) {
  constexpr std::string_view kMarks = "????";
  return stays && length > 0 ? bytes.substr(at, length)
                             : kMarks.substr(0, std::max<std::size_t>(length, 1));
}

// U+0000..U+001F, U+007F..U+009F; and what lets a text be read as another one: marks that turn the
// direction of writing (U+061C, U+200E, U+200F, U+202A..U+202E, U+2066..U+2069) or begin a line
// (U+2028, U+2029).
bool is_control(std::string_view bytes, std::size_t at) {
  const unsigned lead = byte_at(bytes, at);
  const unsigned second = at + 1 < bytes.size() ? byte_at(bytes, at + 1) : 0;
  const unsigned third = at + 2 < bytes.size() ? byte_at(bytes, at + 2) : 0;
  if (lead == 0xC2) return second >= 0x80 && second < 0xA0;
  if (lead == 0xD8) return second == 0x9C;
  if (lead == 0xE2 && second == 0x80)
    return third == 0x8E || third == 0x8F || (third >= 0xA8 && third <= 0xAE);
  if (lead == 0xE2 && second == 0x81) return third >= 0xA6 && third <= 0xA9;
  return lead < 0x20 || lead == 0x7F;
}

}  // namespace

std::string printable(std::string_view bytes, std::size_t most) {
  constexpr std::string_view kCut = "...";
  std::string text;
  std::size_t keep = 0;  // where a cut leaves room for the dots
  for (std::size_t at = 0; at < bytes.size();) {
    if (text.size() + kCut.size() <= most) keep = text.size();
    const std::size_t length = character(bytes, at);
    text += visible(bytes, at, length, !is_control(bytes, at));
    at += std::max<std::size_t>(length, 1);
    if (text.size() > most) return text.substr(0, keep) + std::string(kCut);
  }
  return text;
}

std::string message_line(std::string_view message) {
  constexpr std::size_t kLongestWord = 400;
  constexpr std::size_t kLongestMessage = 4000;
  std::string line;
  std::size_t word = 0;
  for (std::size_t at = 0; at < message.size() && line.size() < kLongestMessage; ++at) {
    const char c = message[at] == '\n' ? ' ' : message[at];
    const bool within_word =
        at > 0 && std::isalnum(static_cast<unsigned char>(message[at - 1])) != 0;
    const std::size_t close = c == '\'' && !within_word ? message.find('\'', at + 1) : message.npos;
    if (close != message.npos && close - at - 1 > kLongestQuote + 3) {
      line += "'" + printable(message.substr(at + 1, close - at - 1), kLongestQuote + 3);
      at = close - 1;
      word = 0;
      continue;
    }
    word = c == ' ' ? 0 : word + 1;
    if (word < kLongestWord) line += c;
    if (word == kLongestWord) line += "...";
  }
  return printable(line, kLongestMessage);
}

std::string VisibleText::take(std::string_view piece) {
  const std::string bytes = std::exchange(begun_, "") + std::string(piece);
  std::string text;
  text.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = character(bytes, at);
    if (length == 0 && is_begun(std::string_view(bytes).substr(at))) {
      begun_ = bytes.substr(at);
      break;
    }
    const bool layout = bytes[at] == '\n' || bytes[at] == '\t';
    text += visible(bytes, at, length, layout || !is_control(bytes, at));
    at += std::max<std::size_t>(length, 1);
  }
  return text;
}

std::optional<std::size_t> first_not_utf8(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = character(bytes, at);
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

}  // namespace fa_tune
