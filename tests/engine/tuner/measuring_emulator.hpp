#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "engine/util/random.hpp"
#include "tests/forwarding_device.hpp"

namespace fa_tune::test {

// The emulator with a clock that says what the test wants, as a device that measures: kernels run,
// times are the test's. For what only such devices come to, on any machine.
class MeasuringEmulator : public ForwardingDevice {
 public:
  // The true time in microseconds of a kernel whose image is this. Null: what the model says of a
  // launch that follows others on the same memory, so that one which finds its work done is quick.
  using Truth = std::function<double(const KernelImage& image)>;

  MeasuringEmulator(std::unique_ptr<device::Device> inner, Truth truth)
      : ForwardingDevice(std::move(inner)),
        truth_(std::move(truth)),
        info_(ForwardingDevice::info()) {
    info_.times = device::TimeKind::measured;
  }

  // Says of itself what a GPU would: nothing is checked there.
  void see_nothing() { info_.checks = false; }

  const device::DeviceInfo& info() const override { return info_; }
  std::span<const device::Fault> deaths() const override { return deaths_; }
  bool renew() override {
    ++renewals;
    return true;
  }
  std::expected<device::KernelHandle, device::Fault> load(const KernelImage& image) override {
    const auto kernel = inner().load(image);
    if (kernel && truth_) truths_[*kernel] = truth_(image);
    return kernel;
  }
  std::expected<device::Timing, device::Fault> time(const device::Launch& launch,
                                                    const device::TimingPlan& plan) override {
    const auto known = true_us(launch, plan);
    if (!known) return std::unexpected(known.error());
    const double truth = *known - (launch.config.programmatic ? kUsOfOverlap : 0);
    if (dies && dies(truth, plan)) {
      deaths_.push_back({device::FaultKind::died, "the process is over"});
      return std::unexpected(deaths_.back());
    }
    // Whoever looks at the outputs finds them.
    if (auto done = run(launch, plan); !done) return std::unexpected(done.error());
    ++timings;
    device::Timing timing;
    timing.l2 = plan.l2;
    timing.restored = !plan.restore.empty();
    timing.launches_per_sample = timing.restored ? 1 : plan.launches_per_sample;
    for (int i = 0; i < plan.samples; ++i) {
      const double us =
          slowed * truth * (1 + noise * random_.normal()) + (plan.l2 == device::L2::cold ? 7 : 0);
      timing.samples_us.push_back(us);
      timing.gpu.sm_mhz.push_back(1755);
    }
    return timing;
  }

  // Set by the test.
  double noise = 0.003;  // relative standard deviation of a sample
  double slowed = 1;     // times that all kernels take as long
  std::function<bool(double truth, const device::TimingPlan& plan)>
      dies;  // ends the process meanwhile

  static constexpr double kUsOfOverlap = 3;  // of a programmatic launch with the one before

  // Seen by the test.
  int renewals = 0;
  int timings = 0;

 private:
  std::expected<void, device::Fault> run(const device::Launch& launch,
                                         const device::TimingPlan& plan) {
    for (const device::BufferChanges* changes : {&plan.restore, &plan.before_each})
      if (auto done = make_changes(*changes); !done) return done;
    return inner().launch(launch);
  }
  std::expected<double, device::Fault> true_us(const device::Launch& launch,
                                               const device::TimingPlan& plan) {
    if (truth_) return truths_.at(launch.kernel);
    for (int i = 0; i < kLaunchesAhead; ++i)
      if (auto done = run(launch, plan); !done) return std::unexpected(done.error());
    auto timing = inner().time(launch, plan);
    if (!timing) return std::unexpected(timing.error());
    const std::size_t nodes = plan.before_each.fills.size() + plan.before_each.copies.size();
    return timing->samples_us.at(0) + static_cast<double>(nodes) * kUsOfChange;
  }

  static constexpr int kLaunchesAhead = 3;
  static constexpr double kUsOfChange = 1.5;

  Truth truth_;
  device::DeviceInfo info_;
  std::map<device::KernelHandle, double> truths_;
  std::vector<device::Fault> deaths_;
  Random random_{17};
};

}  // namespace fa_tune::test
