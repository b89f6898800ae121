#include "tools/lone/npy.hpp"

#include <cstring>

#include <fmt/format.h>

#include "engine/base/error.hpp"
#include "engine/base/yaml.hpp"

namespace fa_tune {
namespace {

constexpr std::string_view magic{"\x93NUMPY\x01\x00", 8};
constexpr std::size_t header_alignment = 64;

std::string type_code(Element element) {
  const bool foreign =
      element == Element::bf16 || element == Element::e4m3 || element == Element::e5m2;
  const std::string name = to_text(element);
  const char letter = foreign ? 'u' : name[0];
  const int bytes = size_of(element);
  return fmt::format("{}{}{}", bytes == 1 ? '|' : '<', letter, bytes);
}

// The text between the quotes behind 'key':, or what stands up to the closing mark.
std::string field(std::string_view header, std::string_view key, char open, char close) {
  const std::size_t at = header.find(key);
  if (at == std::string_view::npos) return "";
  const std::size_t begin = header.find(open, at + key.size());
  const std::size_t end = begin == std::string_view::npos ? begin : header.find(close, begin + 1);
  if (end == std::string_view::npos) return "";
  return std::string(header.substr(begin + 1, end - begin - 1));
}

}  // namespace

std::string write_npy(Element element, const std::vector<std::uint64_t>& dims,
                      std::span<const std::byte> bytes) {
  std::string shape;
  for (const std::uint64_t size : dims) shape += fmt::format("{}, ", size);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   type_code(element), shape);
  while ((magic.size() + 2 + header.size() + 1) % header_alignment != 0) header += ' ';
  header += '\n';
  std::string text(magic);
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  text += header;
  text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text;
}

std::vector<std::byte> read_npy(const std::string& text, const std::string& name, Element element,
                                std::uint64_t count) {
  if (text.size() < magic.size() + 2 || !text.starts_with(magic))
    throw UserError(name + ": is no .npy file of format version 1.0");
  const auto length = static_cast<std::size_t>(static_cast<std::uint8_t>(text[8])) |
                      static_cast<std::size_t>(static_cast<std::uint8_t>(text[9])) << 8;
  const std::size_t begin = magic.size() + 2 + length;
  if (begin > text.size()) throw UserError(name + ": ends inside its header");
  const std::string_view header = std::string_view(text).substr(magic.size() + 2, length);
  const std::string type = field(header, "'descr':", '\'', '\'');
  if (type != type_code(element))
    throw UserError(fmt::format("{}: holds {}, expected {} for {}", name, quote_text(type),
                                type_code(element), to_text(element)));
  if (header.find("'fortran_order': True") != std::string_view::npos)
    throw UserError(name + ": is in Fortran order, expected C order");
  const std::size_t want = count * static_cast<std::size_t>(size_of(element));
  if (text.size() - begin != want)
    throw UserError(
        fmt::format("{}: holds {} bytes of data, expected {}", name, text.size() - begin, want));
  std::vector<std::byte> bytes(want);
  std::memcpy(bytes.data(), text.data() + begin, want);
  return bytes;
}

}  // namespace fa_tune
