#pragma once

#include <expected>
#include <optional>
#include <string>

#include "engine/device/device.hpp"
#include "engine/device/profile.hpp"
#include "engine/gate/gate.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/kernel/template/template.hpp"
#include "engine/problem/problem.hpp"
#include "engine/report/export.hpp"

namespace fa_tune::tuner {

// What an exported file says is to be compiled; `from`: the template of its manifest.
kernel::Source source_of(const report::Exported& exported, const kernel::Template& from);

// The kernel of an exported file, compiled as it stands there. Its #define lines fix what the
// problem's defines say for the exported shape, so it can be bound to the shapes that share them
// and to no others.
class ExportedKernel {
 public:
  // References must outlive it. `target` gives the values that the manifest calls "device.*".
  ExportedKernel(const report::Exported& exported, const problem::Problem& problem,
                 const device::DeviceProfile& target, kernel::Compiler& compiler,
                 device::Device& device);
  ~ExportedKernel();
  ExportedKernel(const ExportedKernel&) = delete;
  ExportedKernel& operator=(const ExportedKernel&) = delete;

  bool fits(const Constants& shape) const;
  std::expected<gate::BoundKernel, std::string> bind(const Constants& shape);
  // Not known before the first bind().
  const KernelResources& resources() const { return resources_; }

 private:
  const report::Exported& exported_;
  const problem::Problem& problem_;
  const device::DeviceProfile& target_;
  kernel::Compiler& compiler_;
  device::Device& device_;
  kernel::Template template_;
  std::optional<device::KernelHandle> kernel_;
  KernelResources resources_;
};

}  // namespace fa_tune::tuner
