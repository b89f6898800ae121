#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/device/profile.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/space_file/space_file.hpp"
#include "engine/tuner/trial/sanitizer_check.hpp"

namespace fa_tune::tuner {

// The proof of the gate: it must fail every planted fault and every cheat, and pass every correct
// kernel. A kernel is gated as a finalist is: on the suites `quick` and `mission` and on hidden
// shapes; timed with its proof; checked for state that it keeps from launch to launch; and, on a
// GPU, checked by the emulator's sanitizers.
struct SelfTestOptions {
  std::uint64_t seed = 1;
  int variants = 300;       // correct kernels, drawn from the spaces in equal parts
  int faults = -1;          // this many of them, evenly spread; all if negative
  bool kinds_once = false;  // of the faults that are no cheats, the first of each kind
  // For the sanitizers, on a device that measures: see SanitizerCheck.
  EmulatorOpener emulator = {};
};

struct SelfTestRow {
  enum class Sort { fault, cheat, twin, variant };
  Sort sort = Sort::variant;
  std::string space;
  std::string template_name;
  std::string name;     // a fault's; a correct kernel's config as JSON
  std::string kind;     // a fault's
  Rejection rejection;  // its finding is "passed" if there is none
  double seconds = 0;
  // True if a fault failed for a reason that counts (its fault file says which), or a correct
  // kernel passed.
  bool passed = false;
};

std::string to_text(SelfTestRow::Sort sort);

struct SelfTestResult {
  std::vector<SelfTestRow> rows;
  std::vector<std::string> left_out;  // faults with genes that none of the spaces has

  int count(SelfTestRow::Sort sort) const;
  int passed(SelfTestRow::Sort sort) const;
  bool passed() const;  // all of them, and there were some
};

// Opens the device for a space's target. It is called for every space, and again when a kernel has
// cost the device its context.
using DeviceOpener =
    std::function<std::unique_ptr<device::Device>(const device::DeviceProfile& target)>;

// Called as soon as a kernel is gated, with the rows until now, the new one last. `of`: how many
// there will be.
using SelfTestListener = std::function<void(const SelfTestResult& until_now, int of)>;

// Faults of a template that several spaces have are planted in the first of them that has their
// genes. Throws UserError for a fault file that does not fit.
SelfTestResult self_test(const std::vector<space::SpaceFile>& spaces,
                         const std::filesystem::path& root, const DeviceOpener& open,
                         kernel::Compiler& compiler, int jobs, const SelfTestOptions& options,
                         const SelfTestListener& listen);

}  // namespace fa_tune::tuner
