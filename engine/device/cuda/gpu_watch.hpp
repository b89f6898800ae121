#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/cuda/clock_probe.hpp"
#include "engine/device/cuda/nvml.hpp"

namespace fa_tune::cuda {

// Watches a GPU while samples are taken. A sample counts as throttled if NVML, asked beside it,
// named a slowdown, or if the SMs ran at less than three quarters of their highest clock; unless
// NVML named the power limit for it, as it does where a kernel is to run long enough: that clock is
// the one every user of the kernel has. What a machine cannot tell stays unknown; it is never an
// error.
class GpuWatch {
 public:
  // Opens NVML now, before a worker gives up what it may do.
  GpuWatch(const DriverApi& driver, DeviceOrdinal device);

  // Before the first of `samples` samples. Here and below a Fault means that the context is lost.
  std::expected<void, device::Fault> begin(CudaContext& context, int samples);
  // To be put into the stream before the first sample and after each.
  std::expected<void, device::Fault> mark(CudaContext& context);
  // Is called while the GPU works, after `done` samples. Asks NVML if the last time is a while ago.
  void look(int done);
  // When all samples are done. The result leaves out the first `skipped`.
  std::expected<device::GpuState, device::Fault> end(CudaContext& context, int skipped);

  // Nvml::joules, where there is one.
  std::optional<double> joules() const { return nvml_ ? nvml_->joules() : std::nullopt; }

 private:
  using Clock = std::chrono::steady_clock;

  void note(int until);

  double highest_mhz_ = 0;  // 0 if the driver does not say
  int sms_ = 0;
  std::unique_ptr<Nvml> nvml_;
  std::string no_readings_;
  std::optional<ClockProbe> probe_;
  bool probe_tried_ = false;

  GpuReading reading_;
  Clock::time_point next_reading_{};
  int samples_ = 0;
  int looked_ = 0;  // samples that a reading was noted for
  std::vector<bool> slowed_;
  std::vector<bool> at_power_limit_;
  std::uint64_t reasons_ = 0;
  GpuReading highest_;
};

}  // namespace fa_tune::cuda
