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

namespace fa_tune {

// The kernel of an exported file, compiled as it stands there. Its #define lines fix what the
// problem's defines say for the exported shape, so it can be bound to the shapes that share them
// and to no others.
class ExportedKernel {
 public:
  // References must outlive it. `target` gives the values that the manifest calls "device.*".
  ExportedKernel(const Exported& exported, const Problem& problem, const DeviceProfile& target,
                 Compiler& compiler, Device& device);
  ~ExportedKernel();
  ExportedKernel(const ExportedKernel&) = delete;
  ExportedKernel& operator=(const ExportedKernel&) = delete;

  bool fits(const Constants& shape) const;
  std::expected<BoundKernel, std::string> bind(const Constants& shape);
  // Not known before the first bind().
  const KernelResources& resources() const { return resources_; }

 private:
  const Exported& exported_;
  const Problem& problem_;
  const DeviceProfile& target_;
  Compiler& compiler_;
  Device& device_;
  Template template_;
  std::optional<KernelHandle> kernel_;
  KernelResources resources_;
};

}  // namespace fa_tune
