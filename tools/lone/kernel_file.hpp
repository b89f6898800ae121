#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/kernel/compile/compiler.hpp"
#include "tools/lone/run.hpp"

namespace fa_tune::lone {

// How near two devices must come. Integers are always held to be identical.
struct Agreement {
  enum class Kind : std::uint8_t {
    exact,     // bit for bit; NaN of any payload are alike
    ulp,       // representable numbers apart
    absolute,  // |a - b|
  };
  Kind kind = Kind::exact;
  double bound = 0;
};

// A CUDA file that says in its leading '//' comment, as YAML, how it is run:
//
//   // class: reduction              what it exercises
//   // about: one line
//   // block: [256]                  one to three sizes; grid and cluster alike, 1 if not given
//   // grid: [4]
//   // shared: 4096                  dynamic shared memory, bytes
//   // args:                         argument_spec.hpp
//   //   - f32[4096]=normal:1
//   //   - out:f32[4]
//   // agree: {ulp: 2}               or {absolute: 1e-6}; exact if not given
//   // because: ex2.approx           why it is not exact
//   // arch: sm_90a                  if it needs more than sm_80
//   // fault: race                   a planted one, made by #define FAULT; named as FaultKind
//   // checkers: racecheck           the tools of compute-sanitizer that could find it
//
// The kernel is the extern "C" __global__ function called as the file.
struct KernelFile {
  std::filesystem::path file;
  std::string name;
  std::string kind;
  std::string about;
  std::string arch;  // empty: any
  LoneLaunch launch;
  Agreement agreement;
  std::string because;
  std::string fault;
  std::string checkers;
  std::string text;

  // Throws UserError with file, line and column.
  static KernelFile load(const std::filesystem::path& file);
  // All of a folder and those in it, by name. Throws UserError where there is none.
  static std::vector<KernelFile> load_all(const std::filesystem::path& folder);

  // Whether a device of this architecture can run it.
  bool runs_on(const std::string& device_arch) const;
  // `planted` defines FAULT.
  kernel::CompileRequest request(const device::DeviceInfo& device, bool planted) const;
  // Compiles for this device and runs once. The message if there is no answer: that the compiler
  // refused it, or the fault's kind and text.
  std::expected<std::vector<LoneOutput>, std::string> run(device::Device& device,
                                                          kernel::Compiler& compiler, bool planted,
                                                          const device::Checks& checks,
                                                          std::uint64_t schedule) const;
};

// A kernel in a file of the user's own: CUDA C++ that NVRTC compiles, or PTX as it is.
struct SourceFile {
  std::filesystem::path file;        // .cu or .ptx
  std::string kernel;                // an entry; in CUDA C++ an extern "C" __global__ function
  std::vector<std::string> defines;  // NAME or NAME=VALUE
  std::vector<std::filesystem::path> include;
  bool line_info = false;
};

// Opens a compiler whose sources may include files of these folders.
using CompilerOpener = std::function<std::unique_ptr<kernel::Compiler>(
    const std::vector<std::filesystem::path>& readable)>;

// The image for a device. CUDA C++ is compiled for the device's architecture, for sm_90a where that
// is sm_90, so that Hopper's own instructions are there; its #include "..." are looked for beside
// the file, then in `include`, then where NVRTC's own headers are. Throws UserError for a file that
// cannot be read, is neither, or does not compile, and MachineError where there is no NVRTC.
KernelImage image_of(const SourceFile& source, const device::DeviceInfo& device,
                     const CompilerOpener& open);

}  // namespace fa_tune::lone
