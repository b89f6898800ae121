#include "engine/device/tensor_map.hpp"

#include <fmt/format.h>

namespace fa_tune::device {
namespace {

constexpr std::uint64_t kAlignment = 16;
constexpr std::uint64_t kMostDimension = std::uint64_t{1} << 32;
constexpr std::uint64_t kMostStride = std::uint64_t{1} << 40;
constexpr std::uint32_t kMostBox = 256;
constexpr std::uint32_t kMostStep = 8;

std::uint64_t widest_row(TensorMap::Swizzle swizzle) {
  switch (swizzle) {
    case TensorMap::Swizzle::none:
      return ~std::uint64_t{0};
    case TensorMap::Swizzle::bytes32:
      return 32;
    case TensorMap::Swizzle::bytes64:
      return 64;
    case TensorMap::Swizzle::bytes128:
      return 128;
  }
  return 0;
}

}  // namespace

int size_of(TensorMap::Element element) {
  switch (element) {
    case TensorMap::Element::u8:
      return 1;
    case TensorMap::Element::u16:
    case TensorMap::Element::f16:
    case TensorMap::Element::bf16:
      return 2;
    case TensorMap::Element::u32:
    case TensorMap::Element::s32:
    case TensorMap::Element::f32:
      return 4;
    case TensorMap::Element::u64:
    case TensorMap::Element::s64:
    case TensorMap::Element::f64:
      return 8;
  }
  return 0;
}

std::optional<std::string> refusal_of(const TensorMap& map) {
  const std::size_t rank = map.dims.size();
  if (rank < 1 || rank > 5) return fmt::format("a tensor map of {} dimensions; 1 to 5 go", rank);
  if (map.strides.size() + 1 != rank || map.box.size() != rank ||
      (!map.element_steps.empty() && map.element_steps.size() != rank)) {
    return fmt::format("a tensor map of {} dimensions wants {} strides and {} box sizes", rank,
                       rank - 1, rank);
  }
  if (map.offset % kAlignment != 0) return "a tensor map's offset is no multiple of 16 bytes";
  for (std::size_t i = 0; i < rank; ++i) {
    if (map.dims[i] == 0 || map.dims[i] > kMostDimension)
      return fmt::format("dimension {} of a tensor map has {} elements", i, map.dims[i]);
    if (map.box[i] == 0 || map.box[i] > kMostBox)
      return fmt::format("box size {} of a tensor map is {}; 1 to 256 go", i, map.box[i]);
    if (!map.element_steps.empty() &&
        (map.element_steps[i] == 0 || map.element_steps[i] > kMostStep))
      return fmt::format("element step {} of a tensor map is {}; 1 to 8 go", i,
                         map.element_steps[i]);
    if (i > 0 && (map.strides[i - 1] % kAlignment != 0 || map.strides[i - 1] >= kMostStride))
      return fmt::format("stride {} of a tensor map is {} bytes, no multiple of 16 below 2^40", i,
                         map.strides[i - 1]);
  }
  const std::uint64_t row =
      std::uint64_t{map.box[0]} * static_cast<std::uint64_t>(size_of(map.element));
  if (row % kAlignment != 0)
    return fmt::format("a row of the box has {} bytes, no multiple of 16", row);
  if (row > widest_row(map.swizzle))
    return fmt::format("a row of the box has {} bytes, more than its swizzle spans", row);
  return std::nullopt;
}

}  // namespace fa_tune::device
