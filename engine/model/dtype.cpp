#include "engine/model/dtype.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "engine/util/half.hpp"

namespace fa_tune {
namespace {

template <typename T>
void put(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <typename T>
T take(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// use(T()) with the C++ type of an integer type. A bool is the byte that it lies in.
template <typename Use>
auto with_integer(DType type, const Use& use) {
  switch (type) {
    // NOLINTNEXTLINE(bugprone-branch-clone): their types differ
    case DType::i8:
      return use(std::int8_t());
    case DType::u8:
    case DType::boolean:
      return use(std::uint8_t());
    case DType::i16:
      return use(std::int16_t());
    case DType::u16:
      return use(std::uint16_t());
    case DType::i32:
      return use(std::int32_t());
    case DType::u32:
      return use(std::uint32_t());
    case DType::i64:
      return use(std::int64_t());
    case DType::u64:
      return use(std::uint64_t());
    case DType::e4m3:
    case DType::e5m2:
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f64:
      break;
  }
  throw std::logic_error("an integer type was expected, not " + type_name(type));
}

}  // namespace

std::size_t size_of(DType type) {
  switch (type) {
    case DType::e4m3:
    case DType::e5m2:
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      return 1;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
    case DType::u16:
      return 2;
    case DType::f32:
    case DType::i32:
    case DType::u32:
      return 4;
    case DType::f64:
    case DType::i64:
    case DType::u64:
      return 8;
  }
  return 0;
}

std::string type_name(DType type) {
  switch (type) {
    case DType::e4m3:
      return "e4m3";
    case DType::e5m2:
      return "e5m2";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::boolean:
      return "bool";
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
      return "i" + std::to_string(8 * size_of(type));
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
      return "u" + std::to_string(8 * size_of(type));
  }
  return "";
}

namespace {

constexpr std::array kNumbers = {DType::f16,  DType::bf16, DType::f32, DType::f64, DType::e4m3,
                                 DType::e5m2, DType::i8,   DType::u8,  DType::i16, DType::u16,
                                 DType::i32,  DType::u32,  DType::i64, DType::u64, DType::boolean};

}  // namespace

std::optional<DType> number_called(std::string_view name) {
  const auto* const found = std::ranges::find(kNumbers, name, type_name);
  return found == kNumbers.end() ? std::nullopt : std::optional(*found);
}

std::string type_names() {
  std::string all;
  for (const DType type : kNumbers) all += (all.empty() ? "" : ", ") + type_name(type);
  return all;
}

std::string integer_text(Wide value) {
  if (value < 0) return "-" + integer_text(-value);
  std::string text = value >= 10 ? integer_text(value / 10) : "";
  return text + static_cast<char>('0' + static_cast<int>(value % 10));
}

std::pair<Wide, Wide> range_of(DType type) {
  if (type == DType::boolean) return {0, 1};
  return with_integer(type, []<typename T>(T) {
    return std::pair<Wide, Wide>(std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  });
}

Wide get_integer(DType type, const std::byte* from) {
  return with_integer(type, [from]<typename T>(T) { return static_cast<Wide>(take<T>(from)); });
}

void put_integer(DType type, Wide value, std::byte* to) {
  with_integer(type, [&]<typename T>(T) { put(to, static_cast<T>(value)); });
}

void put_number(DType type, double value, std::byte* to) {
  switch (type) {
    case DType::f16:
      return put(to, to_f16(value));
    case DType::bf16:
      return put(to, to_bf16(value));
    case DType::f32:
      return put(to, static_cast<float>(value));
    case DType::f64:
      return put(to, value);
    case DType::e4m3:
      return put(to, to_e4m3(value));
    case DType::e5m2:
      return put(to, to_e5m2(value));
    case DType::boolean:
    case DType::i8:
    case DType::u8:
    case DType::i16:
    case DType::u16:
    case DType::i32:
    case DType::u32:
    case DType::i64:
    case DType::u64:
      break;
  }
  const auto [least, most] = range_of(type);
  const double near = std::isnan(value) ? 0 : std::clamp(value, -0x1p65, 0x1p65);
  put_integer(type, std::clamp(static_cast<Wide>(near), least, most), to);
}

double get_other_number(DType type, const std::byte* from) {
  switch (type) {
    case DType::f16:
      return static_cast<double>(from_f16(take<std::uint16_t>(from)));
    case DType::bf16:
      return static_cast<double>(from_bf16(take<std::uint16_t>(from)));
    case DType::f32:
      return static_cast<double>(take<float>(from));
    case DType::f64:
      return take<double>(from);
    case DType::e4m3:
      return static_cast<double>(from_e4m3(take<std::uint8_t>(from)));
    case DType::e5m2:
      return static_cast<double>(from_e5m2(take<std::uint8_t>(from)));
    case DType::boolean:
    case DType::i8:
    case DType::u8:
    case DType::i16:
    case DType::u16:
    case DType::i32:
    case DType::u32:
    case DType::i64:
    case DType::u64:
      break;
  }
  return static_cast<double>(get_integer(type, from));
}

std::string npy_code(DType type) {
  const std::size_t size = size_of(type);
  const std::string order = size == 1 ? "|" : "<";
  const auto code = [&](char kind) { return order + kind + std::to_string(size); };
  switch (type) {
    case DType::f16:
    case DType::f32:
    case DType::f64:
      return code('f');
    case DType::boolean:
      return code('b');
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
      return code('i');
    case DType::e4m3:
    case DType::e5m2:
    case DType::bf16:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
      return code('u');
  }
  return "";
}

}  // namespace fa_tune
