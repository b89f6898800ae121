#include "engine/device/cuda/cuda_launch.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

namespace fa_tune::cuda {
namespace {

// The largest cluster that every GPU with clusters takes (CUDA C++ Programming Guide).
constexpr std::uint64_t kPortableClusterBlocks = 8;

// The driver is not told how long an image is, so what is plainly not one must not reach it.
bool looks_loadable(const KernelImage& image) {
  if (image.kind == BinaryKind::cubin)
    return image.bytes.starts_with(
        "\x7f"
        "ELF");
  return image.bytes.find(".version") != std::string::npos;
}

std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0')) text.pop_back();
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::optional<std::vector<std::size_t>> parameter_sizes(const DriverApi& api, Function function) {
  if (api.cuFuncGetParamInfo == nullptr) return std::nullopt;
  std::vector<std::size_t> sizes;
  for (;;) {
    std::size_t offset = 0;
    std::size_t size = 0;
    const Result code = api.cuFuncGetParamInfo(function, sizes.size(), &offset, &size);
    if (code == kErrorInvalidValue) return sizes;  // past the last
    if (code != kSuccess) return std::nullopt;
    sizes.push_back(size);
  }
}

std::expected<OwnedModule, device::Fault> load_module(CudaContext& context,
                                                      const KernelImage& image,
                                                      const std::string& doing) {
  std::array<char, 4096> log{};
  std::array<int, 2> names{kJitErrorLogBuffer, kJitErrorLogBufferSize};
  // The driver takes the size by value in the place of a pointer, and writes it back there.
  std::array<void*, 2> values{log.data(), std::bit_cast<void*>(log.size() - 1)};
  Module module = nullptr;
  const Result code =
      context->cuModuleLoadDataEx(&module, image.bytes.c_str(), static_cast<unsigned>(names.size()),
                                  names.data(), values.data());
  if (auto loaded = context.check(code, doing); !loaded) {
    device::Fault fault = loaded.error();
    // Whatever made it fail, the image was refused, unless the device is dead.
    if (!context.lost()) fault.kind = device::FaultKind::load_failed;
    if (const std::string text = one_line(log.data()); !text.empty()) fault.message += ": " + text;
    return std::unexpected(std::move(fault));
  }
  return OwnedModule(context, module);
}

std::expected<LoadedKernel, device::Fault> find_kernel(CudaContext& context, Module module,
                                                       const std::string& name) {
  const std::string doing = "load of " + name;
  LoadedKernel kernel;
  kernel.name = name;
  auto found =
      context.check(context->cuModuleGetFunction(&kernel.function, module, name.c_str()), doing);
  if (!found) return std::unexpected(found.error());
  auto limit =
      context.check(context->cuFuncGetAttribute(&kernel.max_dynamic_shared,
                                                kFunctionMaxDynamicShared, kernel.function),
                    doing);
  if (!limit) return std::unexpected(limit.error());
  kernel.parameter_sizes = parameter_sizes(context.api(), kernel.function);
  return kernel;
}

}  // namespace

std::expected<LoadedImage, device::Fault> load_image(CudaContext& context,
                                                     const KernelImage& image) {
  const std::string doing = "load of " + image.kernel;
  if (!looks_loadable(image)) {
    return std::unexpected(
        device::Fault{device::FaultKind::load_failed,
                      fmt::format("{}: {} bytes that are not {}", doing, image.bytes.size(),
                                  image.kind == BinaryKind::cubin ? "a cubin" : "PTX")});
  }
  LoadedImage loaded;
  auto module = load_module(context, image, doing);
  if (!module) return std::unexpected(module.error());
  loaded.module = std::move(*module);
  for (std::size_t i = 0; i < image.entries(); ++i) {
    auto kernel = find_kernel(context, loaded.module.get(), image.entry(i).kernel);
    if (!kernel) return std::unexpected(kernel.error());
    loaded.entries.push_back(std::move(*kernel));
  }
  return loaded;
}

std::vector<std::byte> bytes_of(DevicePointer value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {bytes.begin(), bytes.end()};
}

PreparedLaunch::PreparedLaunch(LoadedKernel& kernel, const LaunchConfig& config,
                               std::vector<std::vector<std::byte>> values, Stream stream)
    : kernel_(kernel),
      values_(std::move(values)),
      cluster_blocks_(config.cluster.count()),
      cooperative_(config.cooperative),
      doing_("launch of " + kernel.name) {
  for (auto& value : values_) parameters_.push_back(value.data());
  settings_.grid_x = config.grid.x;
  settings_.grid_y = config.grid.y;
  settings_.grid_z = config.grid.z;
  settings_.block_x = config.block.x;
  settings_.block_y = config.block.y;
  settings_.block_z = config.block.z;
  settings_.shared_bytes = config.dynamic_shared_bytes;
  settings_.stream = stream;
  if (cluster_blocks_ > 1) {
    LaunchAttribute& cluster = attributes_[settings_.attribute_count++];
    cluster.id = kLaunchClusterDimension;
    cluster.value.cluster[0] = config.cluster.x;
    cluster.value.cluster[1] = config.cluster.y;
    cluster.value.cluster[2] = config.cluster.z;
  }
  if (cooperative_) {
    LaunchAttribute& cooperative = attributes_[settings_.attribute_count++];
    cooperative.id = kLaunchCooperative;
    cooperative.value.cooperative = 1;
  }
  if (config.programmatic) {
    LaunchAttribute& programmatic = attributes_[settings_.attribute_count++];
    programmatic.id = kLaunchProgrammatic;
    programmatic.value.programmatic = 1;
  }
  if (settings_.attribute_count > 0) settings_.attributes = attributes_.data();
}

std::expected<void, device::Fault> PreparedLaunch::admit(CudaContext& context) {
  if (kernel_.parameter_sizes) {
    const auto& sizes = *kernel_.parameter_sizes;
    if (sizes.size() != values_.size()) {
      return std::unexpected(
          device::Fault{device::FaultKind::load_failed,
                        fmt::format("{}: the kernel takes {} parameters, {} were given", doing_,
                                    sizes.size(), values_.size())});
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == values_[i].size()) continue;
      return std::unexpected(
          device::Fault{device::FaultKind::load_failed,
                        fmt::format("{}: parameter {} has {} bytes, {} were given", doing_, i,
                                    sizes[i], values_[i].size())});
    }
  }
  const auto shared = static_cast<std::int64_t>(settings_.shared_bytes);
  if (shared > kernel_.max_dynamic_shared) {
    auto raised =
        context.check(context->cuFuncSetAttribute(kernel_.function, kFunctionMaxDynamicShared,
                                                  static_cast<int>(shared)),
                      fmt::format("{}: {} bytes of dynamic shared memory", doing_, shared));
    if (!raised) return raised;
    kernel_.max_dynamic_shared = static_cast<int>(shared);
  }
  if (cluster_blocks_ > kPortableClusterBlocks && !kernel_.large_clusters) {
    auto allowed = context.check(
        context->cuFuncSetAttribute(kernel_.function, kFunctionNonPortableClusterSize, 1),
        fmt::format("{}: a cluster of {} blocks", doing_, cluster_blocks_));
    if (!allowed) return allowed;
    kernel_.large_clusters = true;
  }
  return cooperative_ ? admit_cooperative(context) : std::expected<void, device::Fault>();
}

// The driver would refuse too large a grid as well, without a figure. Of clusters it alone knows.
std::expected<void, device::Fault> PreparedLaunch::admit_cooperative(CudaContext& context) const {
  if (cluster_blocks_ > 1) return {};
  const auto threads = static_cast<int>(settings_.block_x * settings_.block_y * settings_.block_z);
  int blocks = 0;
  auto told = context.check(context->cuOccupancyMaxActiveBlocksPerMultiprocessor(
                                &blocks, kernel_.function, threads, settings_.shared_bytes),
                            doing_);
  if (!told) return told;
  int sms = 0;
  if (auto asked = context.check(
          context->cuDeviceGetAttribute(&sms, kDeviceMultiprocessorCount, context.device()),
          doing_);
      !asked)
    return asked;
  const auto most = static_cast<std::uint64_t>(blocks) * static_cast<std::uint64_t>(sms);
  const std::uint64_t wanted =
      std::uint64_t{settings_.grid_x} * settings_.grid_y * settings_.grid_z;
  if (wanted <= most) return {};
  return std::unexpected(device::Fault{device::FaultKind::resources,
                                       device::too_large_to_cooperate(kernel_.name, wanted, most)});
}

std::expected<void, device::Fault> PreparedLaunch::enqueue(CudaContext& context) {
  return context.check(
      context->cuLaunchKernelEx(&settings_, kernel_.function, parameters_.data(), nullptr), doing_);
}

}  // namespace fa_tune::cuda
