#include "engine/tuner/trial/gate_and_time.hpp"

namespace fa_tune::tuner {
namespace {

// Those that it can be bound for; of the timed shape too where that leaves some shapes out.
std::vector<gate::GateCase> cases_of(const KernelUnderTest& tested, std::uint64_t seed) {
  const auto fitting = [&](gate::TimedShape timed) {
    std::vector<gate::GateCase> cases = gate::trial_cases(tested.problem(), seed, timed);
    const auto left_out =
        std::erase_if(cases, [&](const gate::GateCase& each) { return !tested.fits(each.shape); });
    return std::pair(std::move(cases), left_out > 0);
  };
  auto [cases, some_left_out] = fitting(gate::TimedShape::none);
  return some_left_out ? fitting(gate::TimedShape::all).first : std::move(cases);
}

}  // namespace

std::expected<measure::Measurement, Rejection> gate_and_time(
    const KernelUnderTest& tested, const gate::Binder& bind, device::Device& device,
    gate::TruthCache& truth, ValidatedTimer& timer, std::uint64_t seed) {
  const auto failed = [&](const Rejection& by, const std::string& because) {
    return std::unexpected(Rejection{by.finding, tested.name() + because + by.message});
  };
  const gate::Verdict gated = gate::Gate(device, truth).check(bind, cases_of(tested, seed));
  if (!gated.passed()) return failed(gated.rejection(), " is not correct: " + gated.finding + ": ");
  const auto bound = bind(tested.problem().shape());
  if (!bound) return failed({gate::Finding::kNotBound, bound.error()}, ": ");
  auto timed = timer.time(*bound, measure::Effort::screen);
  if (!timed) return failed(timed.error(), " could not be timed: " + timed.error().finding + ": ");
  return std::move(*timed);
}

}  // namespace fa_tune::tuner
