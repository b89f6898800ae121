#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/profile.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/report/profile.hpp"
#include "engine/tuner/task/kernel_under_test.hpp"

namespace fa_tune::tuner {

// How a profile is made on a device that measures.
struct MeasuredProfiling {
  std::string ncu;                   // its path, as find_ncu gives it
  std::vector<std::string> program;  // this program and the word `profiled`
  std::chrono::seconds deadline{300};
  std::string keep;  // see NcuRun
};

struct ProfilingOptions {
  std::filesystem::path root;  // of templates and device profiles
  std::string text;            // the kernel's, as an exported file has it
  std::uint64_t seed = 1;      // of inputs
  MeasuredProfiling measured;
  std::optional<device::DeviceProfile> model;  // what a device that predicts emulates
  int jobs = 1;                                // compilers
};

// Gates an exported kernel on the device, times it there, and profiles one launch at the timed
// shape with the inputs that were timed. A device that predicts uses the emulator's model, others
// use Nsight Compute, in a process that has the device for itself. The error says why the kernel
// failed or could not be timed.
std::expected<report::Profile, std::string> profile_kernel(
    std::unique_ptr<KernelUnderTest> given, std::unique_ptr<device::Device> device,
    std::unique_ptr<kernel::Compiler> compiler, const ProfilingOptions& options);

// The work of the command `profiled`, the process under Nsight Compute: launches the exported
// kernel of `text` `launches` times on a device. It takes the kernel from a folder of compiled
// kernels, in which a compiler of that version has left it. Throws MachineError if it does not run.
void launch_for_profiler(const std::string& text, const std::filesystem::path& compiled,
                         const std::string& compiler_version, device::Device& device,
                         const std::filesystem::path& root, std::uint64_t seed, int launches);

}  // namespace fa_tune::tuner
