#include "engine/tuner/trial/validated_timing.hpp"

#include <utility>

#include <fmt/core.h>

#include "engine/gate/timed_launch.hpp"
#include "engine/tuner/trial/memory_proof.hpp"
#include "engine/util/error.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::tuner {

ValidatedTimer::ValidatedTimer(const problem::Problem& problem, const device::DeviceProfile& target,
                               device::Device& device, gate::TruthCache& truth, std::uint64_t seed,
                               Proof proof, gate::DeviceInputCache* input_cache)
    : ValidatedTimer(problem, roofline_of(problem, device.info(), target), device, truth, seed,
                     proof, input_cache) {}

ValidatedTimer::ValidatedTimer(const problem::Problem& problem, std::optional<Roofline> roofline,
                               device::Device& device, gate::TruthCache& truth, std::uint64_t seed,
                               Proof proof, gate::DeviceInputCache* input_cache)
    : device_(device), input_cache_(input_cache), roofline_(std::move(roofline)) {
  const Constants& shape = problem.shape();
  timed_ = truth.get({.shape = shape, .inputs = problem::Inputs::normal, .seed = seed});
  if (proof == Proof::always || device.info().times == device::TimeKind::measured)
    exchanged_ = truth.get({.shape = shape,
                            .inputs = problem::Inputs::normal,
                            .seed = derive_seed(seed, "exchanged")});
}

std::expected<measure::Measurement, Rejection> ValidatedTimer::time(const gate::BoundKernel& kernel,
                                                                    measure::Effort effort,
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

std::expected<measure::Measurement, Rejection> ValidatedTimer::time_with(
    const gate::BoundKernel& kernel, measure::Effort effort, double slow_us,
    gate::DeviceInputCache* input_cache) {
  gate::TimedLaunch timed(device_, kernel, timed_, input_cache);
  auto measured = measure::measure(device_, timed.launch(), effort, slow_us, timed.restore());
  if (!measured)
    return std::unexpected(Rejection{to_text(measured.error().kind), measured.error().message});
  const double us = measured->time_us.value;
  if (auto rejection = prove(timed, *measured, effort, us > slow_us))
    return std::unexpected(std::move(*rejection));
  return std::move(*measured);
}

std::optional<Rejection> ValidatedTimer::prove(gate::TimedLaunch& timed,
                                               const measure::Measurement& measured,
                                               measure::Effort effort, bool slow) {
  const double us = measured.time_us.value;
  if (roofline_ && !(us >= roofline_->us))
    return Rejection{gate::Finding::kTooFast,
                     fmt::format("{:.3g} us, at least {:.3g} us are needed for {}", us,
                                 roofline_->us, roofline_->because)};
  // A prediction of a large launch runs some of the blocks only.
  const bool measures = device_.info().times == device::TimeKind::measured;
  if (measures || measured.timing.complete)
    if (auto rejection = timed.check(timed_)) return rejection;
  if (exchanged_ == nullptr) return std::nullopt;
  if (auto rejection = timed.check_exchanged(exchanged_, us)) return rejection;
  const gate::MemoryRefresh refresh = timed.refresh(exchanged_);
  if (auto rejection = find_life_on_memory(
          device_, {timed.launch(), timed.restore(), refresh, measured, effort, slow}))
    return rejection;
  if (!measures || effort != measure::Effort::final_) return std::nullopt;
  // Filled ahead of each launch as well, the work was done.
  if (auto rejection = timed.check(exchanged_)) return rejection;
  if (auto rejection = timed.check_inputs(exchanged_)) return rejection;
  return std::nullopt;
}

std::expected<measure::Measurement, Rejection> ValidatedTimer::time_cold(
    const gate::BoundKernel& kernel) {
  gate::TimedLaunch timed(device_, kernel, timed_, nullptr);
  auto measured = measure::measure_cold(device_, timed.launch(), timed.restore());
  if (!measured)
    return std::unexpected(Rejection{to_text(measured.error().kind), measured.error().message});
  if (auto rejection = timed.check(timed_)) return std::unexpected(std::move(*rejection));
  return std::move(*measured);
}

}  // namespace fa_tune::tuner
