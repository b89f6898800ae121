#include "engine/run/clocked.hpp"

#include <fmt/core.h>

#include "engine/base/random.hpp"
#include "engine/gate/timed_launch.hpp"

namespace fa_tune {
namespace {

std::unexpected<ClockRefusal> refused(const Refusal& refusal) {
  return std::unexpected(ClockRefusal{to_text(refusal.finding), refusal.message});
}

}  // namespace

Clocked::Clocked(const Problem& problem, const DeviceProfile& target, Device& device,
                 TruthCache& truth, std::uint64_t seed, Proof proof, Originals* originals)
    : device_(device),
      originals_(originals),
      roofline_(roofline_of(problem, device.info(), target)) {
  const Constants& shape = problem.shape();
  timed_ = truth.get({.shape = shape, .inputs = Inputs::normal, .seed = seed});
  if (proof == Proof::always || device.info().times == TimeKind::measured)
    exchanged_ = truth.get(
        {.shape = shape, .inputs = Inputs::normal, .seed = derive_seed(seed, "exchanged")});
}

std::expected<Measurement, ClockRefusal> Clocked::time(const BoundKernel& kernel, Effort effort,
                                                       double slow_us) {
  const std::uint64_t life = device_.life();
  auto measured = time_with(kernel, effort, slow_us, originals_);
  // Another kernel may have written over what this one was given.
  if (measured || originals_ == nullptr || device_.life() != life || originals_->intact())
    return measured;
  return time_with(kernel, effort, slow_us, nullptr);
}

std::expected<Measurement, ClockRefusal> Clocked::time_with(const BoundKernel& kernel,
                                                            Effort effort, double slow_us,
                                                            Originals* originals) {
  TimedLaunch timed(device_, kernel, timed_, originals);
  auto measured = measure(device_, timed.launch(), effort, slow_us);
  if (!measured)
    return std::unexpected(ClockRefusal{to_text(measured.error().kind), measured.error().message});
  const double us = measured->time_us.median;
  if (roofline_ && !(us >= roofline_->us))
    return refused(
        {Finding::too_fast, fmt::format("{:.3g} us, at least {:.3g} us are needed for {}", us,
                                        roofline_->us, roofline_->because)});
  // A prediction of a large launch runs some of the blocks only.
  if (device_.info().times == TimeKind::measured || measured->timing.complete)
    if (const auto refusal = timed.check(timed_)) return refused(*refusal);
  if (exchanged_ != nullptr)
    if (const auto refusal = timed.check_exchanged(exchanged_, us)) return refused(*refusal);
  return std::move(*measured);
}

std::expected<Measurement, ClockRefusal> Clocked::time_cold(const BoundKernel& kernel) {
  TimedLaunch timed(device_, kernel, timed_, nullptr);
  auto measured = measure_cold(device_, timed.launch());
  if (!measured)
    return std::unexpected(ClockRefusal{to_text(measured.error().kind), measured.error().message});
  if (const auto refusal = timed.check(timed_)) return refused(*refusal);
  return std::move(*measured);
}

}  // namespace fa_tune
