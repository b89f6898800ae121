#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::test {

// A device whose only use is its clock: `clock` gives the sample that a plan gets at its n-th
// taking.
class ClockDevice : public device::Device {
 public:
  explicit ClockDevice(std::function<double(const device::TimingPlan&, int)> clock)
      : clock_(std::move(clock)) {
    device_info.id = "fake:0";
  }

  const device::DeviceInfo& info() const override { return device_info; }
  std::expected<device::KernelHandle, device::Fault> load(const KernelImage&) override {
    return device::KernelHandle{1};
  }
  void unload(device::KernelHandle) override {}
  device::BufferHandle allocate(std::size_t) override { return device::BufferHandle{1}; }
  void release(device::BufferHandle) override {}
  std::expected<void, device::Fault> write(device::BufferHandle, std::size_t,
                                           std::span<const std::byte>) override {
    return {};
  }
  std::expected<void, device::Fault> read(device::BufferHandle, std::size_t,
                                          std::span<std::byte>) override {
    return {};
  }
  device::Argument address(device::BufferHandle buffer, std::size_t) override { return buffer; }
  std::expected<void, device::Fault> launch(const device::Launch&) override { return {}; }

  std::expected<device::Timing, device::Fault> time(const device::Launch& launch,
                                                    const device::TimingPlan& plan) override {
    plans.push_back(plan);
    if (static_cast<int>(plans.size()) > fault_after) return std::unexpected(fault);
    device::Timing timing;
    timing.kind = device_info.times;
    if (device_info.times == device::TimeKind::predicted) {
      timing.model = "fake";
      timing.samples_us = {clock_(plan, taken_++)};
      timing.low_us = 0.5 * timing.samples_us.front();
      timing.high_us = 4 * timing.samples_us.front();
      return timing;
    }
    taken_ += plan.warm_up_samples;
    const double factor = launch.kernel == slower ? 1.03 : 1;
    timing.l2 = plan.l2;
    timing.restored = !plan.restore.empty();
    timing.launches_per_sample = timing.restored ? 1 : plan.launches_per_sample;
    for (int i = 0; i < plan.samples; ++i) {
      const bool slow = throttled && throttled(taken_);
      if (slow) timing.gpu.throttled.push_back(static_cast<std::uint32_t>(i));
      if (mhz) timing.gpu.sm_mhz.push_back(slow ? 1000 : mhz(taken_));
      timing.samples_us.push_back((slow ? 1.5 : 1) * factor * clock_(plan, taken_++));
    }
    return timing;
  }

  device::DeviceInfo device_info;
  std::vector<device::TimingPlan> plans;
  int fault_after = std::numeric_limits<int>::max();
  device::KernelHandle slower{99};  // by 3%
  device::Fault fault{device::FaultKind::trap, "planted"};
  std::function<double(int)> mhz = [](int) { return 1755.0; };  // of the n-th sample
  std::function<bool(int)> throttled;  // whether the n-th sample is, and takes half as long again

 private:
  std::function<double(const device::TimingPlan&, int)> clock_;
  int taken_ = 0;
};

// Of the n-th sample, normal.
inline double noise(int n) {
  Random random(derive_seed(1, "noise", static_cast<std::uint64_t>(n)));
  return random.normal();
}

}  // namespace fa_tune::test
