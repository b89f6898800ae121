#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/device/emulator/ir/types.hpp"

namespace fa_tune::emulator {

// In the order, and so with the values, of CUtensorMapDataType.
enum class TensorElement : std::uint8_t { u8, u16, u32, s32, u64, s64, f16, f32, f64, bf16 };

// What the emulator puts into the 128 bytes of a CUtensorMap. The driver's own form is secret and a
// kernel may not look inside, so this one serves as well.
struct TensorMapBits {
  static constexpr std::uint64_t kExpectedMagic = 0x70616d20726f736eU;

  std::uint64_t magic = kExpectedMagic;
  std::uint64_t address = 0;               // of the first element
  std::array<std::uint64_t, 4> strides{};  // bytes, of dimensions 1 and up
  std::array<std::uint32_t, 5> last{};     // elements of each dimension, less one
  std::array<std::uint8_t, 5> box_last{};  // elements of the box, less one
  std::array<std::uint8_t, 5> steps{};     // elements from one to the next that is taken
  std::uint8_t rank = 0;
  std::uint8_t element_bytes = 0;
  TensorElement element = TensorElement::u8;
  std::uint8_t swizzle = 0;  // bytes of a row / 32: 0 (none), 1, 2 or 4
  std::uint8_t nan_fill = 0;
  std::array<std::uint8_t, 41> unused{};

  std::uint64_t dim(std::size_t i) const { return std::uint64_t{last[i]} + 1; }
  std::uint32_t box(std::size_t i) const { return std::uint32_t{box_last[i]} + 1; }
};
static_assert(sizeof(TensorMapBits) == 128);

Type type_of(TensorElement element);  // none if it is none of these

// Nothing if the bytes are no tensor map, or one that lacks its rank, element type or a step.
std::optional<TensorMapBits> tensor_map_from(std::span<const std::byte, 128> bytes);

// The box that a bulk tensor copy in tile mode moves, as rows of dimension 0. In shared memory the
// rows lie one after the other, dimension 1 first (PTX ISA, "Tiled Mode").
class TensorBox {
 public:
  // Coordinates of the box's first element; they may be negative or beyond the tensor.
  TensorBox(const TensorMapBits& map, std::span<const std::int32_t> coordinates);

  struct Row {
    std::uint64_t address = 0;  // of its first element that lies inside the tensor
    std::uint32_t before = 0;   // elements of the box before that one
    std::uint32_t inside = 0;   // elements inside the tensor; 0: none
  };
  std::span<const Row> rows() const { return rows_; }
  std::uint32_t row_bytes() const { return row_bytes_; }
  // Of the whole box, what lies outside the tensor included.
  std::uint32_t bytes() const { return row_bytes_ * static_cast<std::uint32_t>(rows_.size()); }

 private:
  std::vector<Row> rows_;
  std::uint32_t row_bytes_ = 0;
};

// One element of what lies outside: zero, or NaN where the map asks for it.
std::array<std::byte, 8> fill_of(const TensorMapBits& map);

// How 16-byte pieces of shared memory change places, so that rows and columns of a tile are read
// without bank conflicts (PTX ISA, "Swizzling Modes", and the canonical layouts of wgmma): bits 4
// and up of a shared address become their exclusive or with bits 7 and up, as many as `bits` says:
// 1 for spans of 32 bytes, 2 for 64, 3 for 128. So the pattern repeats every 256, 512 or 1024
// bytes.
constexpr std::uint32_t swizzled(std::uint32_t address, unsigned bits) {
  return address ^ (address >> 3 & ((1U << bits) - 1) << 4);
}

}  // namespace fa_tune::emulator
