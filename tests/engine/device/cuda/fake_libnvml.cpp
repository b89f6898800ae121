#include "fake_libnvml.hpp"

#include <string>

using fa_tune::cuda::fake::NvmlState;

namespace {

constexpr int kSuccess = 0;
constexpr int kNotFound = 6;

NvmlState the_state;

int answer(const void* device, unsigned* to, unsigned value) {
  if (device != &the_state) return 2;
  ++the_state.reads;
  *to = value;
  return kSuccess;
}

}  // namespace

extern "C" {

NvmlState* fake_nvml_state() { return &the_state; }

int nvmlInit_v2() { return the_state.init; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  if (std::string(bus) != "0000:00:00.0") return kNotFound;
  *device = &the_state;
  return kSuccess;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  return answer(device, milliwatts, the_state.milliwatts);
}
int nvmlDeviceGetTemperature(void* device, int, unsigned* celsius) {
  return answer(device, celsius, the_state.celsius);
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  if (device != &the_state || the_state.millijoules == 0) return 3;  // NOT_SUPPORTED
  *millijoules = the_state.millijoules;
  return kSuccess;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  if (device != &the_state) return 2;
  *reasons = the_state.reasons;
  return kSuccess;
}

}  // extern "C"
