#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fa_tune::lone {

// What an argument of a lone kernel is made of. e4m3 and e5m2 are the 8-bit floats of the OCP
// specification (OFP8), in which e4m3 has no infinity.
enum class Element : std::uint8_t {
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  f16,
  bf16,
  f32,
  f64,
  e4m3,
  e5m2,
};

// "f16"; the names are those a user types.
std::string to_text(Element element);
std::optional<Element> element_of(std::string_view name);
// "i8, u8, ...": for messages.
std::string element_names();
// Bytes.
int size_of(Element element);
bool is_floating(Element element);

// The value that `bits` stand for, and the bits nearest to a value (ties to even). Integers wrap;
// those of 64 bits lose what a double cannot hold.
double value_of(Element element, std::uint64_t bits);
std::uint64_t bits_of(Element element, double value);

// How many representable numbers lie between two floating values; 0 for equal bits and for zeros of
// both signs. Two NaN are equal here, a NaN and a number as far apart as can be.
std::uint64_t ulps_between(Element element, std::uint64_t a, std::uint64_t b);

// Arrays of elements as .npy files (engine/util/npy.hpp).
// bf16, e4m3 and e5m2, which NumPy does not know, are kept as unsigned integers of their size.
std::string write_npy(Element element, const std::vector<std::uint64_t>& dims,
                      std::span<const std::byte> bytes);

// The bytes of an array of `count` elements that fit `element`. `name` stands in messages. Throws
// UserError for what is no such array, has another type or another number of elements.
std::vector<std::byte> read_npy(const std::string& text, const std::string& name, Element element,
                                std::uint64_t count);

}  // namespace fa_tune::lone
