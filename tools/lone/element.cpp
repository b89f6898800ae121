#include "tools/lone/element.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "engine/util/error.hpp"
#include "engine/util/half.hpp"
#include "engine/util/npy.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::lone {
namespace {

struct Facts {
  Element element;
  std::string_view name;
  int bytes;
  bool floating;
};

constexpr std::array<Facts, 14> kAll = {{{Element::i8, "i8", 1, false},
                                         {Element::u8, "u8", 1, false},
                                         {Element::i16, "i16", 2, false},
                                         {Element::u16, "u16", 2, false},
                                         {Element::i32, "i32", 4, false},
                                         {Element::u32, "u32", 4, false},
                                         {Element::i64, "i64", 8, false},
                                         {Element::u64, "u64", 8, false},
                                         {Element::f16, "f16", 2, true},
                                         {Element::bf16, "bf16", 2, true},
                                         {Element::f32, "f32", 4, true},
                                         {Element::f64, "f64", 8, true},
                                         {Element::e4m3, "e4m3", 1, true},
                                         {Element::e5m2, "e5m2", 1, true}}};

const Facts& facts(Element element) { return kAll[static_cast<std::size_t>(element)]; }

// An 8-bit float is few enough to look through.
std::uint64_t nearest_e5m2(double value) {
  if (std::isnan(value)) return 0x7f;
  std::uint64_t best = 0;
  double distance = std::numeric_limits<double>::infinity();
  for (std::uint64_t bits = 0; bits < 256; ++bits) {
    const double candidate = value_of(Element::e5m2, bits);
    if (!std::isfinite(candidate) || std::signbit(candidate) != std::signbit(value)) continue;
    const double off = std::abs(candidate - value);
    if (off < distance || (off == distance && (bits & 1) == 0)) {
      best = bits;
      distance = off;
    }
  }
  return best;
}

// Floating bits as integers in the order of their values.
std::int64_t ordered(Element element, std::uint64_t bits) {
  const int width = 8 * size_of(element);
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

std::string type_code(Element element) {
  const bool foreign =
      element == Element::bf16 || element == Element::e4m3 || element == Element::e5m2;
  const std::string name = to_text(element);
  const char letter = foreign ? 'u' : name[0];
  const int bytes = size_of(element);
  return fmt::format("{}{}{}", bytes == 1 ? '|' : '<', letter, bytes);
}

}  // namespace

std::string to_text(Element element) { return std::string(facts(element).name); }

std::optional<Element> element_of(std::string_view name) {
  for (const Facts& each : kAll)
    if (each.name == name) return each.element;
  return std::nullopt;
}

std::string element_names() {
  std::string text;
  for (const Facts& each : kAll) text += (text.empty() ? "" : ", ") + std::string(each.name);
  return text;
}

int size_of(Element element) { return facts(element).bytes; }
bool is_floating(Element element) { return facts(element).floating; }

double value_of(Element element, std::uint64_t bits) {
  switch (element) {
    case Element::i8:
      return static_cast<std::int8_t>(bits);
    case Element::i16:
      return static_cast<std::int16_t>(bits);
    case Element::i32:
      return static_cast<std::int32_t>(bits);
    case Element::i64:
      return static_cast<double>(static_cast<std::int64_t>(bits));
    case Element::u8:
    case Element::u16:
    case Element::u32:
    case Element::u64:
      return static_cast<double>(bits);
    case Element::f16:
      return from_f16(static_cast<std::uint16_t>(bits));
    case Element::bf16:
      return from_bf16(static_cast<std::uint16_t>(bits));
    case Element::f32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case Element::f64:
      return std::bit_cast<double>(bits);
    case Element::e4m3:
      return from_e4m3(static_cast<std::uint8_t>(bits));
    case Element::e5m2:
      return from_f16(static_cast<std::uint16_t>(bits << 8));  // its upper half
  }
  return 0;
}

std::uint64_t bits_of(Element element, double value) {
  switch (element) {
    case Element::f16:
      return to_f16(value);
    case Element::bf16:
      return to_bf16(value);
    case Element::f32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case Element::f64:
      return std::bit_cast<std::uint64_t>(value);
    case Element::e4m3:
      return std::isnan(value) ? 0x7f : to_e4m3(value);
    case Element::e5m2:
      return nearest_e5m2(value);
    default:
      break;
  }
  const std::uint64_t bits = value < 0
                                 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value))
                                 : static_cast<std::uint64_t>(value);
  const int width = 8 * size_of(element);
  return width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}

std::uint64_t ulps_between(Element element, std::uint64_t a, std::uint64_t b) {
  const bool nan_a = std::isnan(value_of(element, a));
  const bool nan_b = std::isnan(value_of(element, b));
  if (nan_a && nan_b) return 0;
  if (nan_a || nan_b) return std::numeric_limits<std::uint64_t>::max();
  const std::int64_t x = ordered(element, a);
  const std::int64_t y = ordered(element, b);
  return x > y ? static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(y)
               : static_cast<std::uint64_t>(y) - static_cast<std::uint64_t>(x);
}

std::string write_npy(Element element, const std::vector<std::uint64_t>& dims,
                      std::span<const std::byte> bytes) {
  return npy_text(type_code(element), dims, bytes);
}

std::vector<std::byte> read_npy(const std::string& text, const std::string& name, Element element,
                                std::uint64_t count) {
  const NpyArray array = parse_npy(text, name);
  if (array.type != type_code(element))
    throw UserError(fmt::format("{}: holds {}, expected {} for {}", name, quote_text(array.type),
                                type_code(element), to_text(element)));
  const std::size_t want = count * static_cast<std::size_t>(size_of(element));
  if (array.bytes.size() != want)
    throw UserError(
        fmt::format("{}: holds {} bytes of data, expected {}", name, array.bytes.size(), want));
  return {array.bytes.begin(), array.bytes.end()};
}

}  // namespace fa_tune::lone
