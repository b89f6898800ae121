#include "engine/device/cuda/nvml.hpp"

#include <array>
#include <string_view>

#include <dlfcn.h>

#include "engine/util/environment.hpp"

namespace fa_tune::cuda {
namespace {

// Names and values are those of nvml.h.
constexpr int kNvmlSuccess = 0;
constexpr int kDieSensor = 0;  // NVML_TEMPERATURE_GPU

constexpr std::uint64_t kPowerLimit = 0x04;

struct Reason {
  std::uint64_t bit;
  std::string_view name;
  bool slowdown;
};
// nvmlClocksEventReasons, called nvmlClocksThrottleReasons before driver 535.
constexpr auto kReasons = std::to_array<Reason>({
    {kPowerLimit, "power limit", false},
    {0x08, "hardware slowdown", true},
    {0x10, "sync boost", false},
    {0x20, "heat (software)", true},
    {0x40, "heat (hardware)", true},
    {0x80, "power brake", true},
});

template <typename Pointer>
bool resolve(void* library, Pointer& pointer, const char* name) {
  pointer = reinterpret_cast<Pointer>(dlsym(library, name));
  return pointer != nullptr;
}

}  // namespace

std::vector<std::string> names_of(std::uint64_t clock_reasons) {
  std::vector<std::string> names;
  for (const Reason& reason : kReasons)
    if ((clock_reasons & reason.bit) != 0) names.emplace_back(reason.name);
  return names;
}

bool is_power_limit(std::uint64_t clock_reasons) { return (clock_reasons & kPowerLimit) != 0; }

bool is_slowdown(std::uint64_t clock_reasons) {
  for (const Reason& reason : kReasons)
    if (reason.slowdown && (clock_reasons & reason.bit) != 0) return true;
  return false;
}

std::expected<std::unique_ptr<Nvml>, std::string> Nvml::open(const DriverApi& driver,
                                                             DeviceOrdinal device) {
  std::string path = environment("FA_TUNE_LIBNVML");
  if (path.empty()) path = "libnvidia-ml.so.1";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return std::unexpected(reason == nullptr ? path : std::string(reason));
  }
  Code (*init)() = nullptr;
  Code (*by_bus)(const char*, Handle*) = nullptr;
  if (!resolve(library, init, "nvmlInit_v2") ||
      !resolve(library, by_bus, "nvmlDeviceGetHandleByPciBusId_v2"))
    return std::unexpected(path + " lacks nvmlInit_v2 or nvmlDeviceGetHandleByPciBusId_v2");
  std::array<char, 64> bus{};
  if (driver.cuDeviceGetPCIBusId == nullptr ||
      driver.cuDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()) - 1, device) !=
          kNvmlSuccess)
    return std::unexpected("the driver does not tell the GPU's PCI bus ID");
  if (const Code code = init(); code != kNvmlSuccess)
    return std::unexpected("nvmlInit_v2: error " + std::to_string(code));
  auto nvml = std::unique_ptr<Nvml>(new Nvml);
  if (const Code code = by_bus(bus.data(), &nvml->device_); code != kNvmlSuccess)
    return std::unexpected("NVML does not know GPU " + std::string(bus.data()) + ": error " +
                           std::to_string(code));
  resolve(library, nvml->power_, "nvmlDeviceGetPowerUsage");
  resolve(library, nvml->temperature_, "nvmlDeviceGetTemperature");
  resolve(library, nvml->energy_, "nvmlDeviceGetTotalEnergyConsumption");
  if (!resolve(library, nvml->reasons_, "nvmlDeviceGetCurrentClocksEventReasons"))
    resolve(library, nvml->reasons_, "nvmlDeviceGetCurrentClocksThrottleReasons");
  return nvml;
}

GpuReading Nvml::read() const {
  GpuReading reading;
  unsigned value = 0;
  if (power_ != nullptr && power_(device_, &value) == kNvmlSuccess) reading.watts = value / 1000.0;
  if (temperature_ != nullptr && temperature_(device_, kDieSensor, &value) == kNvmlSuccess)
    reading.celsius = value;
  unsigned long long reasons = 0;
  if (reasons_ != nullptr && reasons_(device_, &reasons) == kNvmlSuccess)
    reading.clock_reasons = reasons;
  return reading;
}

std::optional<double> Nvml::joules() const {
  unsigned long long millijoules = 0;
  if (energy_ == nullptr || energy_(device_, &millijoules) != kNvmlSuccess) return std::nullopt;
  return static_cast<double>(millijoules) / 1000;
}

}  // namespace fa_tune::cuda
