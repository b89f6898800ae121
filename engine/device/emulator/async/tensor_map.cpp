#include "engine/device/emulator/async/tensor_map.hpp"

#include <algorithm>
#include <cstring>
#include <ranges>

namespace fa_tune::emulator {

Type type_of(TensorElement element) {
  // In the order of the enumeration.
  constexpr Type types[] = {Type::u8,  Type::u16, Type::u32, Type::s32, Type::u64,
                            Type::s64, Type::f16, Type::f32, Type::f64, Type::bf16};
  // A kernel can write what it likes where a map should be.
  const auto index = static_cast<std::size_t>(element);
  return index < std::size(types) ? types[index] : Type::none;
}

std::optional<TensorMapBits> tensor_map_from(std::span<const std::byte, 128> bytes) {
  TensorMapBits bits;
  std::memcpy(&bits, bytes.data(), sizeof(bits));
  const bool legal = bits.magic == TensorMapBits::kExpectedMagic && bits.rank >= 1 &&
                     bits.rank <= 5 && bits.element_bytes >= 1 && bits.element_bytes <= 8 &&
                     (bits.swizzle <= 2 || bits.swizzle == 4);
  if (!legal) return std::nullopt;
  const auto steps = std::span(bits.steps).first(bits.rank);
  if (std::ranges::find(steps, 0) != steps.end()) return std::nullopt;
  return bits;
}

TensorBox::TensorBox(const TensorMapBits& map, std::span<const std::int32_t> coordinates)
    : row_bytes_(map.box(0) * map.element_bytes) {
  const auto rank = static_cast<std::size_t>(map.rank);
  // Elements taken of each dimension. Dimension 0 has no steps (cuTensorMapEncodeTiled).
  std::array<std::uint32_t, 5> counts{};
  std::size_t rows = 1;
  for (std::size_t i = 1; i < rank; ++i) {
    counts[i] = (map.box(i) + map.steps[i] - 1) / map.steps[i];
    rows *= counts[i];
  }
  const std::int64_t first = coordinates[0];
  const std::int64_t begin = std::max<std::int64_t>(first, 0);
  const std::int64_t end =
      std::min(first + std::int64_t{map.box(0)}, static_cast<std::int64_t>(map.dim(0)));
  rows_.reserve(rows);
  std::array<std::uint32_t, 5> at{};
  for (std::size_t row = 0; row < rows; ++row) {
    Row& made = rows_.emplace_back();
    bool inside = begin < end;
    made.address = map.address + static_cast<std::uint64_t>(begin) * map.element_bytes;
    for (std::size_t i = 1; i < rank; ++i) {
      const std::int64_t place = std::int64_t{coordinates[i]} + std::int64_t{at[i]} * map.steps[i];
      inside &= place >= 0 && place < static_cast<std::int64_t>(map.dim(i));
      made.address += static_cast<std::uint64_t>(place) * map.strides[i - 1];
    }
    if (inside) {
      made.before = static_cast<std::uint32_t>(begin - first);
      made.inside = static_cast<std::uint32_t>(end - begin);
    }
    for (std::size_t i = 1; i < rank && ++at[i] == counts[i]; ++i) at[i] = 0;
  }
}

std::array<std::byte, 8> fill_of(const TensorMapBits& map) {
  std::array<std::byte, 8> fill{};
  if (map.nan_fill == 0) return fill;
  std::uint64_t bits = 0;
  switch (map.element) {
    case TensorElement::f16:
    case TensorElement::bf16:
      bits = 0x7fff;
      break;
    case TensorElement::f32:
      bits = 0x7fffffff;
      break;
    case TensorElement::f64:
      bits = 0x7fffffffffffffff;
      break;
    default:
      break;
  }
  std::memcpy(fill.data(), &bits, sizeof(bits));
  return fill;
}

}  // namespace fa_tune::emulator
