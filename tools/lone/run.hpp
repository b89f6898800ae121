#pragma once

#include <expected>
#include <vector>

#include "engine/device/device.hpp"
#include "tools/lone/argument_spec.hpp"

namespace fa_tune::lone {

// A kernel run by itself, outside every problem: how it is started and on what.
struct LoneLaunch {
  LaunchConfig config;
  std::vector<ArgumentSpec> arguments;
  device::Checks checks;
  std::uint64_t schedule = 0;
  std::vector<std::uint64_t> only_clusters = {};  // device::Launch
};

// What is in a buffer after the launch, one for each argument that is written, in their order.
struct LoneOutput {
  std::size_t argument = 0;
  std::vector<std::byte> bytes;
};

// A kernel loaded on a device with its arguments in place. The device must outlive it.
class LoneRun {
 public:
  // The fault if the image or a tensor map is refused. Throws what content_of() throws.
  static std::expected<LoneRun, device::Fault> prepare(device::Device& device,
                                                       const KernelImage& image,
                                                       const LoneLaunch& launch);
  LoneRun(LoneRun&& other) noexcept;
  LoneRun& operator=(LoneRun&&) = delete;
  LoneRun(const LoneRun&) = delete;
  LoneRun& operator=(const LoneRun&) = delete;
  ~LoneRun();

  // Runs it once.
  std::expected<void, device::Fault> run() { return device_->launch(launch_); }
  std::expected<std::vector<LoneOutput>, device::Fault> outputs();
  const device::Launch& launch() const { return launch_; }

 private:
  explicit LoneRun(device::Device& device) : device_(&device) {}
  std::expected<void, device::Fault> place(const ArgumentSpec& spec, std::size_t index);
  // An address in a buffer that is there already, or a tensor map over it.
  std::expected<void, device::Fault> refer(const ArgumentSpec& spec);
  // The addresses that a buffer holds.
  std::expected<void, device::Fault> store_addresses(const ArgumentSpec& spec, std::size_t index);
  std::expected<device::Argument, device::Fault> tensor_map(const ArgumentSpec& spec,
                                                            device::BufferHandle buffer);

  struct Output {
    std::size_t argument = 0;
    device::BufferHandle buffer{};
    std::size_t bytes = 0;
  };
  device::Device* device_;
  device::Launch launch_;
  std::vector<device::BufferHandle> buffers_;
  std::vector<device::BufferHandle> by_argument_;  // of LoneLaunch::arguments
  std::vector<Output> outputs_;
};

// All of the above: load, run once, read back.
std::expected<std::vector<LoneOutput>, device::Fault> run_lone(device::Device& device,
                                                               const KernelImage& image,
                                                               const LoneLaunch& launch);

}  // namespace fa_tune::lone
