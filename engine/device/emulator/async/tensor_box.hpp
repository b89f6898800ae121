#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/emulator/async/tensor_map_bits.hpp"

namespace fa_tune::emulator {

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

}  // namespace fa_tune::emulator
