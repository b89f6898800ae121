#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fa_tune {

// 89 of "sm_89", 90 of "sm_90a": ten times the compute capability.
constexpr int arch_number(std::string_view arch) {
  int number = 0;
  for (const char c : arch)
    if (c >= '0' && c <= '9') number = number * 10 + (c - '0');
  return number;
}

// What a device can load. A GPU takes machine code; the emulator takes the PTX it was made from.
enum class BinaryKind { cubin, ptx };

struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;

  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

// How a kernel is started. One form for all templates: what a template does not use stays at 1 or
// 0.
struct LaunchConfig {
  Dim3 grid;
  Dim3 block;
  Dim3 cluster;
  std::uint32_t dynamic_shared_bytes = 0;

  friend bool operator==(const LaunchConfig&, const LaunchConfig&) = default;
};

// One dimension of a tensor map: an axis of the tensor, by the letter that Tensor::axes gives it,
// or a part of one. Heads that come in groups of four make two dimensions, H % 4 and H / 4.
struct MapAxis {
  char letter = 0;
  std::int64_t modulo = 0;  // 0: all of it
  std::int64_t divisor = 1;
  friend bool operator==(const MapAxis&, const MapAxis&) = default;
};

// An argument that is a tensor map: Hopper's copy engine moves boxes of a tensor through it.
struct MappedTensor {
  std::string argument;
  std::string tensor;
  std::vector<std::uint32_t> box;  // elements, the innermost dimension first; one for each
  std::int64_t swizzle_bytes = 0;  // 0, 32, 64 or 128: see TensorMap::Swizzle
  std::vector<MapAxis> axes = {};  // innermost first; empty: those of the tensor as they lie
  friend bool operator==(const MappedTensor&, const MappedTensor&) = default;
};

// What is launched at one shape of a problem, but for the machine code.
struct PlannedLaunch {
  LaunchConfig config;
  std::vector<std::string> arguments;  // names, in the kernel's order
  std::vector<MappedTensor> maps;      // the arguments that are tensor maps

  friend bool operator==(const PlannedLaunch&, const PlannedLaunch&) = default;
};

// What ptxas says a kernel takes, a thread or a block. -1 where it is not known.
struct KernelResources {
  int registers = -1;            // a thread
  int spill_store_bytes = -1;    // a thread
  int spill_load_bytes = -1;     // a thread
  int stack_bytes = -1;          // a thread
  int static_shared_bytes = -1;  // a block
};

// A compiled kernel, ready to be loaded.
struct KernelImage {
  BinaryKind kind = BinaryKind::cubin;
  std::string arch;    // "sm_89"
  std::string kernel;  // the entry's (mangled) name
  std::string bytes;   // a cubin or PTX text
  KernelResources resources;
};

}  // namespace fa_tune
