#pragma once

#include <array>
#include <expected>
#include <optional>
#include <vector>

#include "engine/device/cuda/cuda_context.hpp"

namespace fa_tune::cuda {

// A kernel of a loaded image.
struct LoadedKernel {
  Function function = nullptr;
  std::string name;
  int max_dynamic_shared = 0;   // bytes that may be asked now; raised when a launch asks for more
  bool large_clusters = false;  // of more than 8 blocks have been allowed
  // The size of each parameter in bytes; nothing where the driver is too old to say.
  std::optional<std::vector<std::size_t>> parameter_sizes;
};

// A loaded image, with its entries in order.
struct LoadedImage {
  OwnedModule module;
  std::vector<LoadedKernel> entries;
};

std::expected<LoadedImage, device::Fault> load_image(CudaContext& context,
                                                     const KernelImage& image);

// An argument that is an address, or a number of as many bits.
std::vector<std::byte> bytes_of(DevicePointer value);

// A launch in the driver's terms. It points into itself, hence it stays where it was made.
class PreparedLaunch {
 public:
  // `values` are the arguments as the kernel takes them: the bytes of an address or of a scalar.
  PreparedLaunch(LoadedKernel& kernel, const LaunchConfig& config,
                 std::vector<std::vector<std::byte>> values, Stream stream);
  PreparedLaunch(const PreparedLaunch&) = delete;
  PreparedLaunch& operator=(const PreparedLaunch&) = delete;

  // Compares the arguments with the kernel's parameters, and raises the function's limits where
  // this launch needs it. The driver would read past too short a list of arguments.
  std::expected<void, device::Fault> admit(CudaContext& context);
  // Puts one launch into the stream, without waiting.
  std::expected<void, device::Fault> enqueue(CudaContext& context);

  const std::string& doing() const { return doing_; }  // for messages: "launch of NAME"

 private:
  std::expected<void, device::Fault> admit_cooperative(CudaContext& context) const;

  LoadedKernel& kernel_;
  std::vector<std::vector<std::byte>> values_;
  std::vector<void*> parameters_;
  std::array<LaunchAttribute, 3> attributes_;
  LaunchSettings settings_;
  std::uint64_t cluster_blocks_ = 1;
  bool cooperative_ = false;
  std::string doing_;
};

}  // namespace fa_tune::cuda
