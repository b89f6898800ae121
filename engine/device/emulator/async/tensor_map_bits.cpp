#include "engine/device/emulator/async/tensor_map_bits.hpp"

#include <cstring>

namespace fa_tune::emulator {

std::optional<TensorMapBits> tensor_map_from(std::span<const std::byte, 128> bytes) {
  TensorMapBits bits;
  std::memcpy(&bits, bytes.data(), sizeof(bits));
  const bool legal = bits.magic == TensorMapBits::expected_magic && bits.rank >= 1 &&
                     bits.rank <= 5 && bits.element_bytes >= 1 && bits.element_bytes <= 8 &&
                     (bits.swizzle <= 2 || bits.swizzle == 4);
  if (!legal) return std::nullopt;
  return bits;
}

}  // namespace fa_tune::emulator
