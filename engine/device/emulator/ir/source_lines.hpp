#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fa_tune::emulator {

// Where the instructions of a program come from in CUDA C++, if the compiler was told to say so
// (NVRTC's and nvcc's --generate-line-info).
struct SourceLines {
  static constexpr std::uint32_t unknown = 0xffffffffU;

  // "mma.cu:123" or "math.cuh:40 in mma.cu:123", for code that was inlined there: the innermost
  // call that the kernel's own file makes. Each once.
  std::vector<std::string> texts;
  std::vector<std::uint32_t> of_ops;  // an index of texts, or unknown; empty: not one is known

  // The text of instruction `op`; empty if it is not known.
  const std::string& of(std::size_t op) const;
};

}  // namespace fa_tune::emulator
