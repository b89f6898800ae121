#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/lone/kernel_file.hpp"

namespace fa_tune {

// One of two devices whose answers are held against each other. On a GPU every run has a process of
// its own (isolated.hpp); a program that has a Side on a GPU must not open it otherwise.
class Side {
 public:
  // `name` as open_device takes it, without "auto". Throws what open_device throws.
  Side(std::string name, Compiler& compiler);

  const DeviceInfo& info() const { return info_; }
  // Compiles for this device and runs once. The message if there is no answer: that the compiler
  // refused it, or the fault's kind and text.
  std::expected<std::vector<LoneOutput>, std::string> run(const KernelFile& kernel, bool planted,
                                                          const Checks& checks,
                                                          std::uint64_t schedule);

 private:
  std::unique_ptr<Device> open() const;
  std::expected<KernelImage, std::string> compile(const KernelFile& kernel, bool planted);

  std::string name_;
  Compiler& compiler_;
  std::unique_ptr<Device> device_;  // none for a GPU
  DeviceInfo info_;
};

}  // namespace fa_tune
