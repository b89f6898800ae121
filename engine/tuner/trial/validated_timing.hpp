#pragma once

#include <cstdint>
#include <expected>
#include <limits>
#include <memory>
#include <optional>

#include "engine/device/device.hpp"
#include "engine/gate/device_input_cache.hpp"
#include "engine/gate/gate.hpp"
#include "engine/measure/sampler.hpp"
#include "engine/tuner/task/roofline.hpp"

namespace fa_tune::gate {
class TimedLaunch;
}  // namespace fa_tune::gate

namespace fa_tune::tuner {

// Times kernels of one problem at its timed shape, which have passed the gate, and validates each
// time: (1) it is not below the roofline bound; (2) the outputs after timing are correct; (3) when
// inputs are exchanged between back-to-back launches, the outputs follow; (4) it is no shorter for
// what the launch before has left in memory (memory_proof.hpp).
class ValidatedTimer {
 public:
  // Where the exchange of inputs and the memory proof are done. On a device that predicts no clock
  // runs, memory is always fresh, and an exchange costs as much as two cases of the gate at the
  // timed shape.
  enum class Proof { where_measured, always };

  // All must outlive it. `input_cache` may be null.
  ValidatedTimer(const problem::Problem& problem, std::optional<Roofline> roofline,
                 device::Device& device, gate::TruthCache& truth, std::uint64_t seed, Proof proof,
                 gate::DeviceInputCache* input_cache = nullptr);
  // With the roofline_of() that target.
  ValidatedTimer(const problem::Problem& problem, const device::DeviceProfile& target,
                 device::Device& device, gate::TruthCache& truth, std::uint64_t seed, Proof proof,
                 gate::DeviceInputCache* input_cache = nullptr);

  // `slow_us`: see measure().
  std::expected<measure::Measurement, Rejection> time(
      const gate::BoundKernel& kernel, measure::Effort effort,
      double slow_us = std::numeric_limits<double>::infinity());
  // The same with a cold second-level cache, for a kernel that has been timed, on a device that
  // measures. Its outputs are checked too.
  std::expected<measure::Measurement, Rejection> time_cold(const gate::BoundKernel& kernel);

 private:
  std::expected<measure::Measurement, Rejection> time_with(const gate::BoundKernel& kernel,
                                                           measure::Effort effort, double slow_us,
                                                           gate::DeviceInputCache* input_cache);
  std::optional<Rejection> prove(gate::TimedLaunch& timed, const measure::Measurement& measured,
                                 measure::Effort effort, bool slow);

  device::Device& device_;
  gate::DeviceInputCache* input_cache_;
  std::shared_ptr<const gate::TruthCache::Entry> timed_;
  std::shared_ptr<const gate::TruthCache::Entry> exchanged_;  // null if nothing is to be exchanged
  std::optional<Roofline> roofline_;
};

}  // namespace fa_tune::tuner
