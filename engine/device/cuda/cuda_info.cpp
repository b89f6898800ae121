#include <array>
#include <exception>
#include <fstream>
#include <span>

#include <fmt/format.h>

#include "engine/device/cuda/cuda_context.hpp"
#include "engine/device/cuda/cuda_device.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::cuda {
namespace {

// "580.82.07, CUDA 13.0": the kernel module's version, if the system shows it, and the newest CUDA
// the driver library knows. The driver API itself tells only the latter.
std::string driver_version(int cuda_version) {
  std::string module;
  std::ifstream("/sys/module/nvidia/version") >> module;
  const std::string cuda = fmt::format("CUDA {}.{}", cuda_version / 1000, cuda_version % 1000 / 10);
  return module.empty() ? cuda : module + ", " + cuda;
}

// "GPU-0123...", with 32 digits.
std::string uuid_text(std::span<const char> bytes) {
  std::string text = "GPU-";
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

}  // namespace

device::DeviceInfo describe_gpu(const DriverApi& api, int index, DeviceOrdinal device) {
  const auto need = [&](Result code) {
    if (code == kSuccess) return;
    throw MachineError(fmt::format("cuda:{} cannot be described: {}", index, api.describe(code)));
  };
  const auto attribute = [&](int which) {
    int value = 0;
    need(api.cuDeviceGetAttribute(&value, which, device));
    return value;
  };

  std::array<char, 256> name{};
  need(api.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device));
  int version = 0;
  need(api.cuDriverGetVersion(&version));

  device::DeviceInfo info;
  info.id = fmt::format("cuda:{}", index);
  info.name = name.data();
  info.arch = fmt::format("sm_{}{}", attribute(kDeviceComputeCapabilityMajor),
                          attribute(kDeviceComputeCapabilityMinor));
  info.driver = driver_version(version);
  info.accepts = BinaryKind::cubin;
  info.times = device::TimeKind::measured;
  info.sms = attribute(kDeviceMultiprocessorCount);
  info.shared_per_block = attribute(kDeviceMaxSharedPerBlockOptin);
  const auto ask = api.cuDeviceGetUuid_v2 != nullptr ? api.cuDeviceGetUuid_v2 : api.cuDeviceGetUuid;
  if (ask != nullptr) {
    std::array<char, 16> uuid{};
    need(ask(uuid.data(), device));
    info.uuid = uuid_text(uuid);
  }
  return info;
}

std::vector<device::DeviceInfo> list_cuda() {
  std::vector<device::DeviceInfo> gpus;
  try {
    const auto api = cuda::load_driver();
    int count = 0;
    if (api->cuDeviceGetCount(&count) != cuda::kSuccess) return gpus;
    for (int index = 0; index < count; ++index) {
      cuda::DeviceOrdinal device = 0;
      if (api->cuDeviceGet(&device, index) != cuda::kSuccess) continue;
      gpus.push_back(cuda::describe_gpu(*api, index, device));
    }
  } catch (const std::exception&) {
    // A GPU that cannot be described is one that cannot be used: the list goes without it.
    return gpus;
  }
  return gpus;
}

}  // namespace fa_tune::cuda
