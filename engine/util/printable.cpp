#include "engine/util/printable.hpp"

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

// U+0000..U+001F, U+007F..U+009F.
bool is_control(std::string_view bytes, std::size_t at) {
  const unsigned lead = byte_at(bytes, at);
  if (lead == 0xC2 && at + 1 < bytes.size()) return byte_at(bytes, at + 1) < 0xA0;
  return lead < 0x20 || lead == 0x7F;
}

}  // namespace

std::string printable(std::string_view bytes, std::size_t most) {
  constexpr std::string_view kCut = "...";
  std::string text;
  std::size_t keep = 0;  // where a cut leaves room for the dots
  for (std::size_t at = 0; at < bytes.size();) {
    if (text.size() + kCut.size() <= most) keep = text.size();
    const std::size_t length = is_control(bytes, at) ? 0 : character(bytes, at);
    if (length == 0)
      text += '?';
    else
      text += bytes.substr(at, length);
    at += length == 0 ? 1 : length;
    if (text.size() > most) return text.substr(0, keep) + std::string(kCut);
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
