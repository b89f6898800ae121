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

namespace fa_tune {

// The proof of the gate: it must refuse every planted fault and every cheat, and no right kernel. A
// kernel is judged as a finalist is: the suites `quick` and `mission`, hidden shapes, the clock
// with its proof; what it keeps from launch to launch; and, on a GPU, what the emulator sees in it.
struct SelfTestOptions {
  std::uint64_t seed = 1;
  int variants = 300;  // right ones, drawn from the spaces in equal parts
  int faults = -1;     // so many of them, evenly spread; all if negative
  // For what the emulator sees in kernels on a device that measures: see SanitizerCheck.
  EmulatorOpener emulator = {};
};

struct SelfTestRow {
  enum class Sort { fault, cheat, twin, variant };
  Sort sort = Sort::variant;
  std::string space;
  std::string template_name;
  std::string name;     // a fault's; a right kernel's config as JSON
  std::string kind;     // a fault's
  Rejection rejection;  // "right" if there is none
  double seconds = 0;
  // A fault refused for a reason that counts (as its fault file says), a right kernel accepted.
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

// Opens the device for a space's target: anew for every space, and where a kernel cost a device its
// context.
using DeviceOpener = std::function<std::unique_ptr<Device>(const DeviceProfile& target)>;

// Evaluation of every kernel as soon as it is judged: the rows until now, the new one last, of so
// many.
using SelfTestListener = std::function<void(const SelfTestResult& until_now, int of)>;

// Faults of a template that several spaces have are planted in the first of them that has their
// genes. Throws UserError for a fault file that does not fit.
SelfTestResult self_test(const std::vector<SpaceFile>& spaces, const std::filesystem::path& root,
                         const DeviceOpener& open, Compiler& compiler, int jobs,
                         const SelfTestOptions& options, const SelfTestListener& listen);

}  // namespace fa_tune
