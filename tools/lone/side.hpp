#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/lone/kernel_file.hpp"

namespace fa_tune {

// One of two devices whose answers are held against each other. On a GPU every run has a process of
// its own (isolated.hpp); a program that has a Side on a GPU must not open it otherwise. A folder
// of kept answers can stand for the device that gave them.
class Side {
 public:
  // `name` as open_device takes it, without "auto", or kept:FOLDER, or apart:NAME for an emulator
  // that is treated as a GPU is. Throws what open_device throws,
  // and UserError for a folder without answers.
  Side(std::string name, Compiler& compiler);

  const DeviceInfo& info() const { return info_; }
  // Compiles for this device and runs once. The message if there is no answer: that the compiler
  // refused it, or the fault's kind and text.
  std::expected<std::vector<LoneOutput>, std::string> run(const KernelFile& kernel, bool planted,
                                                          const Checks& checks,
                                                          std::uint64_t schedule);
  // From now on the answers of correct kernels are kept in `folder`, which must exist.
  void keep(const std::filesystem::path& folder);

 private:
  std::unique_ptr<Device> open() const;
  std::expected<std::vector<LoneOutput>, std::string> answer(const KernelFile& kernel, bool planted,
                                                             const Checks& checks,
                                                             std::uint64_t schedule);

  std::string name_;
  Compiler& compiler_;
  std::unique_ptr<Device> device_;  // none for a GPU and for kept answers
  std::filesystem::path kept_;      // answers are read from here, if not empty
  std::filesystem::path keep_;      // and written to here
  DeviceInfo info_;
};

// If the program was started by a Side to run a kernel on a GPU: does so and gives the exit code.
std::optional<int> answer_for_side(int argc, char** argv);

}  // namespace fa_tune
