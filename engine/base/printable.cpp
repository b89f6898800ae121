#include "engine/base/printable.hpp"

namespace fa_tune {
namespace {

unsigned byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

// Bytes of the character that begins at `at`; 0 where none does. Unicode 15, table 3-7: the second
// byte's range is what keeps overlong forms, surrogates and what is above U+10FFFF out.
std::size_t character(std::string_view bytes, std::size_t at) {
  const unsigned lead = byte_at(bytes, at);
  if (lead < 0x80) return lead < 0x20 || lead == 0x7F ? 0 : 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (at + length > bytes.size()) return 0;
  unsigned low = 0x80;
  unsigned high = 0xBF;
  if (lead == 0xC2) low = 0xA0;  // U+0080..U+009F are control characters
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  if (byte_at(bytes, at + 1) < low || byte_at(bytes, at + 1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if ((byte_at(bytes, at + i) & 0xC0U) != 0x80) return 0;
  return length;
}

}  // namespace

std::string printable(std::string_view bytes, std::size_t most) {
  constexpr std::string_view kCut = "...";
  std::string text;
  std::size_t keep = 0;  // where a cut leaves room for the dots
  for (std::size_t at = 0; at < bytes.size();) {
    if (text.size() + kCut.size() <= most) keep = text.size();
    const std::size_t length = character(bytes, at);
    if (length == 0)
      text += '?';
    else
      text += bytes.substr(at, length);
    at += length == 0 ? 1 : length;
    if (text.size() > most) return text.substr(0, keep) + std::string(kCut);
  }
  return text;
}

}  // namespace fa_tune
