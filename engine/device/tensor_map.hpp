#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/handles.hpp"

namespace fa_tune::device {

// A view of a buffer through which Hopper's bulk tensor copies (cp.async.bulk.tensor) see it: what
// cuTensorMapEncodeTiled takes (CUDA driver API, "Tensor Map Object Management"). Dimension 0 is
// the innermost, whose elements lie side by side.
struct TensorMap {
  // In the order, and so with the values, of CUtensorMapDataType and CUtensorMapSwizzle.
  enum class Element : std::uint8_t { u8, u16, u32, s32, u64, s64, f16, f32, f64, bf16 };
  // How 16-byte pieces change places within 256, 512 or 1024 bytes of shared memory, so that rows
  // and columns are read without bank conflicts (PTX ISA, "Swizzling Modes").
  enum class Swizzle : std::uint8_t { none, bytes32, bytes64, bytes128 };

  Element element = Element::f16;
  BufferHandle buffer{};
  std::size_t offset = 0;                    // of the first element, bytes; a multiple of 16
  std::vector<std::uint64_t> dims;           // elements; 1 to 5 of them
  std::vector<std::uint64_t> strides;        // bytes, of dimensions 1 and up; multiples of 16
  std::vector<std::uint32_t> box;            // elements a copy takes; at most 256 each
  std::vector<std::uint32_t> element_steps;  // empty: all 1
  Swizzle swizzle = Swizzle::none;
  bool nan_fill = false;  // what lies outside reads as NaN, else as zero
};

int size_of(TensorMap::Element element);
// What is wrong with it, in one line, by the rules of cuTensorMapEncodeTiled; nothing if it is
// right.
std::optional<std::string> refusal_of(const TensorMap& map);

}  // namespace fa_tune::device
