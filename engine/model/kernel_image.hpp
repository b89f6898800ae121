#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/model/dtype.hpp"

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
  bool cooperative = false;  // all blocks run at once, so that the grid may sync
  // Programmatic dependent launch: blocks may begin before the kernel in front of this one in the
  // stream has ended, and wait for it (griddepcontrol.wait) before they touch global memory.
  bool programmatic = false;

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

// One kernel of several that make up a launch.
struct PlannedKernel {
  std::size_t entry = 0;  // see KernelImage::entry
  LaunchConfig config;
  std::vector<std::string> arguments;  // names, in the kernel's order
  std::vector<MappedTensor> maps;      // the arguments that are tensor maps

  friend bool operator==(const PlannedKernel&, const PlannedKernel&) = default;
};

// One value in every byte of a tensor.
struct PlannedFill {
  std::string tensor;
  std::uint8_t value = 0;
  friend bool operator==(const PlannedFill&, const PlannedFill&) = default;
};

// From one tensor to another of as many bytes.
struct PlannedCopy {
  std::string from;
  std::string to;
  friend bool operator==(const PlannedCopy&, const PlannedCopy&) = default;
};

using PlannedStep = std::variant<PlannedKernel, PlannedFill, PlannedCopy>;

// Memory that a template asks for beside the problem's tensors: what it holds before a launch must
// not matter.
struct PlannedWorkspace {
  std::string name;
  DType type = DType::f32;
  std::vector<std::int64_t> dims;
  friend bool operator==(const PlannedWorkspace&, const PlannedWorkspace&) = default;
};

// A number that a template's kernels take beside the problem's arguments.
struct PlannedScalar {
  std::string name;
  DType type = DType::i32;
  std::vector<std::byte> bytes;  // as a kernel takes it
  friend bool operator==(const PlannedScalar&, const PlannedScalar&) = default;
};

// What is launched at one shape of a problem, but for the machine code: one kernel, or a list of
// steps, one after another.
struct PlannedLaunch {
  LaunchConfig config;
  std::vector<std::string> arguments;  // names, in the kernel's order
  std::vector<MappedTensor> maps;      // the arguments that are tensor maps
  // If there are any, they are what is launched, and the three above say nothing.
  std::vector<PlannedStep> steps = {};
  std::vector<PlannedWorkspace> workspaces = {};
  std::vector<PlannedScalar> scalars = {};  // those that a kernel takes

  // Its kernels, in order.
  std::vector<PlannedKernel> kernels() const;
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

// One of the kernels in an image.
struct KernelEntry {
  std::string kernel;  // its (mangled) name
  KernelResources resources;
};

// One instruction of the machine code that ptxas makes of PTX.
struct MachineInstruction {
  std::uint64_t low = 0;  // its 128 bits
  std::uint64_t high = 0;
  std::uint32_t ptx_line = 0;  // of the PTX it was made from; 0: unknown
};

// A compiled kernel, ready to be loaded, or several of one source.
struct KernelImage {
  BinaryKind kind = BinaryKind::cubin;
  std::string arch;    // "sm_89"
  std::string kernel;  // the entry's (mangled) name
  std::string bytes;   // a cubin or PTX text
  KernelResources resources;
  std::vector<KernelEntry> more = {};  // the entries behind the first
  // Of PTX, by entry: what a GPU of `arch` would execute, for a time to be predicted from. Empty
  // where it is not known.
  std::vector<std::vector<MachineInstruction>> machine_code = {};

  std::size_t entries() const { return 1 + more.size(); }
  // 0 is the first.
  KernelEntry entry(std::size_t i) const {
    return i == 0 ? KernelEntry{kernel, resources} : more.at(i - 1);
  }
};

// What any of its kernels takes at most.
KernelResources most_of(const KernelResources& a, const KernelResources& b);
KernelResources most_of(const KernelImage& image);

// "scan<4>" of "_Z4scanILi4EEvPKf": a kernel's name for a person, without what it takes.
std::string plain_name(const std::string& kernel);

}  // namespace fa_tune
