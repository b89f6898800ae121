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

namespace fa_tune {

class TimedLaunch;

// Times right kernels of one problem at its timed shape and proves of each time that it stands for
// the whole work: it is not under the roofline; the outputs that the clock left behind are right;
// in a row of launches whose inputs are exchanged half way, so is what comes last; and it is no
// shorter for what the launch before has left in memory (memory_proof.hpp).
class ValidatedTimer {
 public:
  // What the proof asks. On a device that predicts no clock runs, memory is fresh when it is asked,
  // and an exchange costs as much as two cases of the gate at the timed shape.
  enum class Proof { where_measured, always };

  // All must outlive it. `input_cache` may be null; see there.
  ValidatedTimer(const Problem& problem, const DeviceProfile& target, Device& device,
                 TruthCache& truth, std::uint64_t seed, Proof proof,
                 DeviceInputCache* input_cache = nullptr);

  // `slow_us`: see measure().
  std::expected<Measurement, Rejection> time(
      const BoundKernel& kernel, Effort effort,
      double slow_us = std::numeric_limits<double>::infinity());
  // Of one that has been timed: the same with a cold second-level cache, on a device that measures.
  // Its outputs are checked too.
  std::expected<Measurement, Rejection> time_cold(const BoundKernel& kernel);

 private:
  std::expected<Measurement, Rejection> time_with(const BoundKernel& kernel, Effort effort,
                                                  double slow_us, DeviceInputCache* input_cache);
  std::optional<Rejection> prove(TimedLaunch& timed, const Measurement& measured, Effort effort,
                                 bool slow);

  Device& device_;
  DeviceInputCache* input_cache_;
  std::shared_ptr<const TruthCache::Entry> timed_;
  std::shared_ptr<const TruthCache::Entry> exchanged_;  // null if nothing is to be exchanged
  std::optional<Roofline> roofline_;
};

}  // namespace fa_tune
