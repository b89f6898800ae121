#include "engine/util/npy.hpp"

#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "engine/util/error.hpp"

namespace fa_tune {
namespace {

constexpr std::string_view kMagic{"\x93NUMPY", 6};
constexpr std::size_t kMostHeader = std::size_t{64} << 10;
constexpr std::size_t kMostDimensions = 32;
constexpr std::size_t kAlignment = 64;

// What stands behind 'key': in a header, which is a Python dictionary with plain values.
std::string_view value_of(std::string_view header, const std::string& key,
                          const std::string& name) {
  const std::size_t at = header.find("'" + key + "':");
  if (at == std::string_view::npos)
    throw UserError(name + ": its header has no '" + key + "', expected a .npy file");
  const std::string_view rest = header.substr(at + key.size() + 3);
  return rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
}

// "(3, 4)", "(3,)" or "()".
std::vector<std::uint64_t> read_shape(std::string_view text, const std::string& name) {
  std::vector<std::uint64_t> dims;
  const std::size_t end = text.find(')');
  bool good = text.starts_with('(') && end != std::string_view::npos;
  text = good ? text.substr(1, end - 1) : "";
  while (good && text.find_first_not_of(" ,") != std::string_view::npos) {
    text.remove_prefix(text.find_first_not_of(" ,"));
    std::uint64_t size = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    good = error == std::errc{} && dims.size() < kMostDimensions;
    dims.push_back(size);
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  }
  if (!good) throw UserError(name + ": its header has a 'shape' that is no tuple of sizes");
  return dims;
}

}  // namespace

NpyArray parse_npy(std::string_view text, const std::string& name) {
  constexpr std::size_t kVersionEnd = 8;
  if (text.size() < kVersionEnd + 2 || !text.starts_with(kMagic) || text[6] < 1 || text[6] > 3)
    throw UserError(name + ": is no .npy file of format version 1.0 to 3.0");
  const std::size_t width = text[6] == 1 ? 2 : 4;
  std::size_t length = 0;
  if (text.size() < kVersionEnd + width) throw UserError(name + ": ends inside its header");
  for (std::size_t i = width; i-- > 0;)
    length = length << 8 | static_cast<std::uint8_t>(text[kVersionEnd + i]);
  const std::size_t begin = kVersionEnd + width;
  if (length > kMostHeader) throw UserError(name + ": has a header above 64 KiB");
  if (length > text.size() - begin) throw UserError(name + ": ends inside its header");
  const std::string_view header = text.substr(begin, length);

  NpyArray array;
  const std::string_view type = value_of(header, "descr", name);
  const std::size_t quote = type.starts_with('\'') ? type.find('\'', 1) : std::string_view::npos;
  if (quote == std::string_view::npos || quote < 4 || quote > 6 || type[1] == '>')
    throw UserError(name + ": holds no plain little-endian numbers");
  array.type = type.substr(1, quote - 1);
  std::uint64_t count = 0;
  const auto [stop, error] = std::from_chars(type.data() + 3, type.data() + quote, count);
  if (error != std::errc{} || stop != type.data() + quote || count < 1 || count > 16)
    throw UserError(name + ": holds no plain little-endian numbers");
  if (!value_of(header, "fortran_order", name).starts_with("False"))
    throw UserError(name + ": is in Fortran order, expected C order");
  array.dims = read_shape(value_of(header, "shape", name), name);
  for (const std::uint64_t size : array.dims) {
    if (size != 0 && count > std::numeric_limits<std::uint64_t>::max() / size)
      throw UserError(name + ": its shape is larger than any file");
    count *= size;
  }
  const std::string_view data = text.substr(begin + length);
  if (data.size() != count)
    throw UserError(
        fmt::format("{}: holds {} bytes of data, expected {}", name, data.size(), count));
  array.bytes = std::as_bytes(std::span(data));
  return array;
}

std::string npy_text(const std::string& type, const std::vector<std::uint64_t>& dims,
                     std::span<const std::byte> bytes) {
  std::string shape;
  for (const std::uint64_t size : dims) shape += fmt::format("{}, ", size);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, shape);
  std::string text = std::string(kMagic) + '\x01' + '\x00';
  while ((text.size() + 2 + header.size() + 1) % kAlignment != 0) header += ' ';
  header += '\n';
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  text += header;
  text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text;
}

}  // namespace fa_tune
