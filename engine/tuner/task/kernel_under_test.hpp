#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "engine/device/device.hpp"
#include "engine/gate/gate.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune {

// A kernel that a person names to have it timed beside another one.
class KernelUnderTest {
 public:
  virtual ~KernelUnderTest() = default;

  const std::string& name() const { return name_; }
  virtual const Problem& problem() const = 0;
  // Problem::use_reference, to be called before a truth is asked for.
  virtual void use_reference(const std::shared_ptr<ReferenceRunner>& runner) = 0;
  // The profile whose limits held for it.
  virtual const DeviceProfile& target() const = 0;
  // Makes it for a device. The KernelUnderTest, the pool and the device must outlive what is bound,
  // and the KernelUnderTest must go before the device.
  virtual Binder on(Device& device, Compiler& compiler, CompilePool& pool) = 0;
  // Whether it can be bound for a shape: an exported file is for those that share its defines. Of
  // one that on() was asked of.
  virtual bool fits(const Constants& shape) const = 0;
  // Of what was bound last; not known before.
  virtual KernelResources resources() = 0;

 protected:
  explicit KernelUnderTest(std::string name) : name_(std::move(name)) {}

 private:
  std::string name_;
};

// Where names are looked up that are not files.
struct KernelPlaces {
  std::filesystem::path root;
  std::filesystem::path db;
  std::optional<std::string> space;  // whose presets are meant
};

// `text` is an exported .cu file, a trial's ID, RUN:NUMBER, or a preset of the space. Throws
// UserError for what is none of these or not there.
std::unique_ptr<KernelUnderTest> open_kernel(const std::string& text, const KernelPlaces& places);

// What an exported .cu file says, from its text; `name` is what messages call it.
std::unique_ptr<KernelUnderTest> kernel_of_export(const std::string& name, const std::string& text,
                                                  const std::filesystem::path& root);

}  // namespace fa_tune
