#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace fa_tune {

// The numbers that kernels compute with. A bool is a byte of 0 or 1, as in C++.
enum class DType { e4m3, e5m2, f16, bf16, f32, f64, i8, u8, i16, u16, i32, u32, i64, u64, boolean };

std::size_t size_of(DType type);    // bytes an element
std::string type_name(DType type);  // "f32", "bool"
std::optional<DType> number_called(std::string_view type_name);
std::string type_names();  // of all: "f16, bf16, ..."

// Integers have no noise: they are compared exactly. A bool is one of them here.
constexpr bool is_integer(DType type) { return type >= DType::i8; }

// Holds every integer of 64 bits, with or without a sign.
__extension__ using Wide = __int128;
std::string integer_text(Wide value);
// The least and the largest of an integer type.
std::pair<Wide, Wide> range_of(DType type);

// An element of a type: what it is, and as near to a number as the type has one. What is out of an
// integer's range becomes its end.
double get_other_number(DType type, const std::byte* from);
inline double get_number(DType type, const std::byte* from) {
  if (type != DType::f32) return get_other_number(type, from);
  // What most are, and by the hundred million.
  float value = 0;
  std::memcpy(&value, from, sizeof value);
  return static_cast<double>(value);
}
void put_number(DType type, double value, std::byte* to);
// The same of integer types, every bit of them. A byte that is no bool is what it is.
Wide get_integer(DType type, const std::byte* from);
void put_integer(DType type, Wide value, std::byte* to);

// As NumPy names the type in a .npy file: "<f4". It has no bf16 and no 8-bit floats, which are the
// integers of their bits there.
std::string npy_code(DType type);

}  // namespace fa_tune
