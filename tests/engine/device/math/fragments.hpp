#pragma once

#include <bit>
#include <cstdint>
#include <cstdlib>

#include "engine/device/emulator/tensor_core/tensor_core.hpp"
#include "engine/util/half.hpp"

// Where the elements of a fragment lie, written down from the PTX ISA, and small whole numbers as
// elements, whose products every rule of rounding leaves exact.

namespace fa_tune::emulator {

// A whole number from -4 to 4 (u8: 0 to 4) as an element.
inline std::uint32_t encode(Element element, int value) {
  constexpr std::uint32_t e4m3[] = {0, 0x38, 0x40, 0x44, 0x48};
  constexpr std::uint32_t e5m2[] = {0, 0x3C, 0x40, 0x42, 0x44};
  const std::uint32_t sign = value < 0 ? 0x80 : 0;
  switch (element) {
    case Element::f16:
      return fa_tune::to_f16(value);
    case Element::bf16:
      return to_bf16(value);
    case Element::tf32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case Element::e4m3:
      return sign | e4m3[std::abs(value)];
    case Element::e5m2:
      return sign | e5m2[std::abs(value)];
    default:
      return static_cast<std::uint8_t>(value);
  }
}

struct Place {
  int row;
  int k;
};

// PTX ISA, "Matrix Fragments" of mma.m16n8k8 (.tf32), .m16n8k16 (.f16), .m16n8k32 (8 bits): where
// element i of a lane lies in A; B's column is the lane's group, its k that of A's row below 8.
inline Place place_of_a(Element element, int lane, int i) {
  const int group = lane >> 2;
  const int thread = lane % 4;
  if (element == Element::tf32) return {group + (i % 2) * 8, thread + (i >= 2 ? 4 : 0)};
  if (bits_of(element) == 16) {
    return {group + (i % 4 >= 2 ? 8 : 0), thread * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
  }
  return {group + (i % 8 >= 4 ? 8 : 0), thread * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
}

inline int place_of_b(Element element, int lane, int i) {
  const int thread = lane % 4;
  if (element == Element::tf32) return thread + (i == 1 ? 4 : 0);
  if (bits_of(element) == 16) return thread * 2 + (i & 1) + (i >= 2 ? 8 : 0);
  return thread * 4 + (i & 3) + (i >= 4 ? 16 : 0);
}

inline void put(std::uint32_t* registers, Element element, int i, std::uint32_t bits) {
  const int each = 32 / bits_of(element);
  registers[i / each * 32] |= bits << (i % each * bits_of(element));
}

}  // namespace fa_tune::emulator
