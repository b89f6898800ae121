#include "engine/tuner/trial/validated_timing.hpp"

#include <fmt/core.h>

#include "engine/gate/timed_launch.hpp"
#include "engine/tuner/trial/memory_proof.hpp"
#include "engine/util/error.hpp"
#include "engine/util/random.hpp"

namespace fa_tune {

ValidatedTimer::ValidatedTimer(const Problem& problem, const DeviceProfile& target, Device& device,
                               TruthCache& truth, std::uint64_t seed, Proof proof,
                               DeviceInputCache* input_cache)
    : device_(device),
      input_cache_(input_cache),
      roofline_(roofline_of(problem, device.info(), target)) {
  const Constants& shape = problem.shape();
  timed_ = truth.get({.shape = shape, .inputs = Inputs::normal, .seed = seed});
  if (proof == Proof::always || device.info().times == TimeKind::measured)
    exchanged_ = truth.get(
        {.shape = shape, .inputs = Inputs::normal, .seed = derive_seed(seed, "exchanged")});
}

std::expected<Measurement, Rejection> ValidatedTimer::time(const BoundKernel& kernel, Effort effort,
                                                           double slow_us) {
  const std::uint64_t life = device_.life();
  try {
    auto measured = time_with(kernel, effort, slow_us, input_cache_);
    // Another kernel may have written over what this one was given.
    if (measured || input_cache_ == nullptr || device_.life() != life || input_cache_->intact())
      return measured;
  } catch (const OutOfMemory&) {
    if (input_cache_ == nullptr) throw;
    input_cache_->make_room();
  }
  return time_with(kernel, effort, slow_us, nullptr);
}

std::expected<Measurement, Rejection> ValidatedTimer::time_with(const BoundKernel& kernel,
                                                                Effort effort, double slow_us,
                                                                DeviceInputCache* input_cache) {
  TimedLaunch timed(device_, kernel, timed_, input_cache);
  auto measured = measure(device_, timed.launch(), effort, slow_us, timed.restore());
  if (!measured)
    return std::unexpected(Rejection{to_text(measured.error().kind), measured.error().message});
  const double us = measured->time_us.value;
  if (auto rejection = prove(timed, *measured, effort, us > slow_us))
    return std::unexpected(std::move(*rejection));
  return std::move(*measured);
}

std::optional<Rejection> ValidatedTimer::prove(TimedLaunch& timed, const Measurement& measured,
                                               Effort effort, bool slow) {
  const double us = measured.time_us.value;
  if (roofline_ && !(us >= roofline_->us))
    return Rejection{Finding::too_fast,
                     fmt::format("{:.3g} us, at least {:.3g} us are needed for {}", us,
                                 roofline_->us, roofline_->because)};
  // A prediction of a large launch runs some of the blocks only.
  const bool measures = device_.info().times == TimeKind::measured;
  if (measures || measured.timing.complete)
    if (auto rejection = timed.check(timed_)) return rejection;
  if (exchanged_ == nullptr) return std::nullopt;
  if (auto rejection = timed.check_exchanged(exchanged_, us)) return rejection;
  const MemoryRefresh refresh = timed.refresh(exchanged_);
  if (auto rejection = find_life_on_memory(
          device_, {timed.launch(), timed.restore(), refresh, measured, effort, slow}))
    return rejection;
  if (!measures || effort != Effort::final_) return std::nullopt;
  // Filled ahead of each launch as well, the work was done.
  if (auto rejection = timed.check(exchanged_)) return rejection;
  if (auto rejection = timed.check_inputs(exchanged_)) return rejection;
  return std::nullopt;
}

std::expected<Measurement, Rejection> ValidatedTimer::time_cold(const BoundKernel& kernel) {
  TimedLaunch timed(device_, kernel, timed_, nullptr);
  auto measured = measure_cold(device_, timed.launch(), timed.restore());
  if (!measured)
    return std::unexpected(Rejection{to_text(measured.error().kind), measured.error().message});
  if (auto rejection = timed.check(timed_)) return std::unexpected(std::move(*rejection));
  return std::move(*measured);
}

}  // namespace fa_tune
