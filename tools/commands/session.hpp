#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/device/profile.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/problem/problem.hpp"
#include "engine/problem/reference.hpp"
#include "engine/space_file/space_file.hpp"
#include "engine/tuner/trial/sanitizer_check.hpp"
#include "tools/commands/command.hpp"

namespace fa_tune::commands {

// What a command gates kernels with: devices and compilers, all in processes of their own, so that
// nothing of a stranger's kernel runs in this one. To be made before what holds kernels on its
// devices: these are unloaded there when they go.
class Session {
 public:
  enum class Devices { none, one, several };

  // `names` as --device has them. Throws UserError for a name that is none, MachineError where
  // there is no such device.
  Session(Devices how_many, const std::string& names, const device::DeviceProfile& target,
          const std::filesystem::path& root,
          std::unique_ptr<kernel::Compiler> compiler = open_compiler());
  Session(const std::string& name, const device::DeviceProfile& target,
          const std::filesystem::path& root)
      : Session(Devices::one, name, target, root) {}

  device::Device& device() { return *devices().front(); }
  std::vector<device::Device*> devices() const;
  // Devices that somebody else keeps, and longer than this, behind its own.
  void add(const std::vector<device::Device*>& devices);
  kernel::Compiler& compiler() { return *compiler_; }
  // Of as many threads as the machine gives, begun when it is first asked for.
  kernel::CompilePool& pool();
  // For a problem whose truth comes from a kernel: that runs on another device of the same name,
  // until `stop`.
  void give_reference(problem::Problem& problem, const device::DeviceProfile& target,
                      const std::atomic<bool>* stop = nullptr);
  std::shared_ptr<problem::ReferenceRunner> reference(const device::DeviceProfile& target);

 private:
  std::filesystem::path root_;
  std::unique_ptr<kernel::Compiler> compiler_;
  std::vector<std::unique_ptr<device::Device>> devices_;
  std::vector<device::Device*> others_;
  std::optional<kernel::CompilePool> pool_;
};

// The runner of a reference kernel on a device as `beside`, in a process of its own, so that no
// kernel under test can reach what it computes. The compiler must outlive it.
std::shared_ptr<problem::ReferenceRunner> reference_beside(const device::Device& beside,
                                                           kernel::Compiler& compiler,
                                                           const device::DeviceProfile& target,
                                                           const std::filesystem::path& root,
                                                           const std::atomic<bool>* stop = nullptr);

// A space whose target is `auto`, for the device that `names` stands for: it gets the profile of that
// GPU or of that emulator; one that names its target is left as it is. Throws UserError where there
// is neither, or no profile.
space::SpaceFile for_device(const space::SpaceFile& file, const std::string& names,
                            const std::filesystem::path& root);

// The same for a device that is opened already.
space::SpaceFile for_opened_device(const space::SpaceFile& file, const device::DeviceInfo& info,
                                   const std::filesystem::path& root);

// For kernels that finals look at on an emulator: in processes of their own.
tuner::EmulatorOpener emulator_in_worker(const std::filesystem::path& root);

}  // namespace fa_tune::commands
