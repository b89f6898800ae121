#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "engine/device/device.hpp"
#include "engine/gate/gate.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune::tuner {

// A kernel that a person names, to be timed beside another one.
class KernelUnderTest {
 public:
  virtual ~KernelUnderTest() = default;

  const std::string& name() const { return name_; }
  virtual const problem::Problem& problem() const = 0;
  // Problem::use_reference. To be called before an expected result is needed.
  virtual void use_reference(const std::shared_ptr<problem::ReferenceRunner>& runner) = 0;
  // The profile whose limits the kernel keeps.
  virtual const device::DeviceProfile& target() const = 0;
  // Prepares it for a device. The KernelUnderTest, the pool and the device must outlive what is
  // bound, and the KernelUnderTest must be destroyed before the device.
  virtual gate::Binder on(device::Device& device, kernel::Compiler& compiler,
                          kernel::CompilePool& pool) = 0;
  // Whether it can be bound for a shape; an exported file can for shapes that share its defines.
  // Call on() first.
  virtual bool fits(const Constants& shape) const = 0;
  // The resources of the kernel bound last; not known before.
  virtual KernelResources resources() = 0;

 protected:
  explicit KernelUnderTest(std::string name) : name_(std::move(name)) {}

 private:
  std::string name_;
};

// Where names that are not files are looked up.
struct KernelPlaces {
  std::filesystem::path root;
  std::filesystem::path db;
  std::optional<std::string> space;  // whose presets are meant
};

// `text` is an exported .cu file, a trial's ID, RUN:NUMBER, or a preset of the space. Throws
// UserError if it is none of these, or if it does not exist.
std::unique_ptr<KernelUnderTest> open_kernel(const std::string& text, const KernelPlaces& places);

// The kernel of an exported .cu file's text; messages call it `name`.
std::unique_ptr<KernelUnderTest> kernel_of_export(const std::string& name, const std::string& text,
                                                  const std::filesystem::path& root);

}  // namespace fa_tune::tuner
