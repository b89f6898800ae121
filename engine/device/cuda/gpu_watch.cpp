#include "engine/device/cuda/gpu_watch.hpp"

#include <algorithm>

namespace fa_tune::cuda {
namespace {

// NVML's own figures are no younger.
constexpr auto kReadingLasts = std::chrono::milliseconds(20);
// How much longer than it took a reading must last at least: asking is not to cost much time.
constexpr int kTimesItsCost = 30;
// Below this part of the highest clock a sample is throttled: so nvbench has it. Boost clocks stay
// above, and mostly the power limit.
constexpr double kThrottled = 0.75;

int attribute(const DriverApi& driver, int which, DeviceOrdinal device) {
  int value = 0;
  return driver.cuDeviceGetAttribute(&value, which, device) == kSuccess ? value : 0;
}

// Nothing but a lost context is worth telling: a watch that cannot watch is no finding.
std::expected<void, device::Fault> unless_lost(CudaContext& context,
                                               std::expected<void, device::Fault> done) {
  if (done || context.lost()) return done;
  return {};
}

}  // namespace

GpuWatch::GpuWatch(const DriverApi& driver, DeviceOrdinal device)
    : highest_mhz_(attribute(driver, kDeviceClockRate, device) / 1000.0),
      sms_(attribute(driver, kDeviceMultiprocessorCount, device)) {
  auto nvml = Nvml::open(driver, device);
  if (nvml)
    nvml_ = std::move(*nvml);
  else
    no_readings_ = nvml.error();
}

std::expected<void, device::Fault> GpuWatch::begin(CudaContext& context, int samples) {
  samples_ = samples;
  looked_ = 0;
  slowed_.assign(static_cast<std::size_t>(samples), false);
  at_power_limit_ = slowed_;
  reasons_ = 0;
  highest_ = {};
  if (!probe_tried_) {
    probe_tried_ = true;
    auto probe = ClockProbe::make(context, sms_);
    if (probe)
      probe_ = std::move(*probe);
    else if (context.lost())
      return std::unexpected(probe.error());
  }
  if (!probe_) return {};
  auto begun = probe_->begin(context, samples + 1);
  if (!begun) probe_.reset();
  return unless_lost(context, begun);
}

std::expected<void, device::Fault> GpuWatch::mark(CudaContext& context) {
  if (!probe_) return {};
  auto marked = probe_->mark(context);
  if (!marked) probe_.reset();
  return unless_lost(context, marked);
}

void GpuWatch::look(int done) {
  if (!nvml_) return;
  const auto before = Clock::now();
  if (before < next_reading_) return;
  reading_ = nvml_->read();
  const auto now = Clock::now();
  next_reading_ = now + std::max<Clock::duration>(kReadingLasts, kTimesItsCost * (now - before));
  note(done);
}

// The reading stands for what was taken since the last one.
void GpuWatch::note(int until) {
  reasons_ |= reading_.clock_reasons;
  highest_.watts = std::max(highest_.watts, reading_.watts);
  highest_.celsius = std::max(highest_.celsius, reading_.celsius);
  for (; looked_ < until; ++looked_) {
    slowed_[static_cast<std::size_t>(looked_)] = is_slowdown(reading_.clock_reasons);
    at_power_limit_[static_cast<std::size_t>(looked_)] = is_power_limit(reading_.clock_reasons);
  }
}

std::expected<device::GpuState, device::Fault> GpuWatch::end(CudaContext& context, int skipped) {
  device::GpuState state;
  state.no_readings = no_readings_;
  if (nvml_) {
    look(samples_);
    note(samples_);
  }
  state.watts = highest_.watts;
  state.celsius = highest_.celsius;
  state.held_down_by = names_of(reasons_);
  std::vector<double> mhz;
  if (probe_) {
    auto read = probe_->read(context);
    if (!read && context.lost()) return std::unexpected(read.error());
    if (read) mhz = std::move(*read);
  }
  for (int i = skipped; i < samples_; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool slow = !mhz.empty() && highest_mhz_ > 0 && mhz[at] < kThrottled * highest_mhz_;
    if (slowed_[at] || (slow && !at_power_limit_[at]))
      state.throttled.push_back(static_cast<std::uint32_t>(i - skipped));
    if (!mhz.empty()) state.sm_mhz.push_back(mhz[at]);
  }
  return state;
}

}  // namespace fa_tune::cuda
