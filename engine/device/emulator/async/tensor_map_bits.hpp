#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace fa_tune::emulator {

// In the order, and so with the values, of CUtensorMapDataType.
enum class TensorElement : std::uint8_t { u8, u16, u32, s32, u64, s64, f16, f32, f64, bf16 };

// What the emulator puts into the 128 bytes of a CUtensorMap. The driver's own form is secret and a
// kernel may not look inside, so this one serves as well.
struct TensorMapBits {
  static constexpr std::uint64_t expected_magic = 0x70616d20726f736eU;

  std::uint64_t magic = expected_magic;
  std::uint64_t address = 0;               // of the first element
  std::array<std::uint64_t, 4> strides{};  // bytes, of dimensions 1 and up
  std::array<std::uint32_t, 5> last{};     // elements of each dimension, less one
  std::array<std::uint8_t, 5> box_last{};  // elements of the box, less one
  std::array<std::uint8_t, 5> steps{};     // elements from one to the next that is taken
  std::uint8_t rank = 0;
  std::uint8_t element_bytes = 0;
  TensorElement element = TensorElement::u8;
  std::uint8_t swizzle = 0;  // rows of so many 32 bytes: 0 none, 1, 2, 4
  std::uint8_t nan_fill = 0;
  std::array<std::uint8_t, 41> unused{};

  std::uint64_t dim(std::size_t i) const { return std::uint64_t{last[i]} + 1; }
  std::uint32_t box(std::size_t i) const { return std::uint32_t{box_last[i]} + 1; }
};
static_assert(sizeof(TensorMapBits) == 128);

// Nothing if the bytes are no tensor map.
std::optional<TensorMapBits> tensor_map_from(std::span<const std::byte, 128> bytes);

}  // namespace fa_tune::emulator
