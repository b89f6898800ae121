#include "engine/tuner/trial/gate_and_time.hpp"

namespace fa_tune {
namespace {

// Those that it can be bound for; of the timed shape too where that leaves some shapes out.
std::vector<GateCase> cases_of(const KernelUnderTest& tested, std::uint64_t seed) {
  const auto fitting = [&](TimedShape timed) {
    std::vector<GateCase> cases = trial_cases(tested.problem(), seed, timed);
    const auto left_out =
        std::erase_if(cases, [&](const GateCase& each) { return !tested.fits(each.shape); });
    return std::pair(std::move(cases), left_out > 0);
  };
  auto [cases, some_left_out] = fitting(TimedShape::none);
  return some_left_out ? fitting(TimedShape::all).first : std::move(cases);
}

}  // namespace

std::expected<Measurement, Rejection> gate_and_time(const KernelUnderTest& tested,
                                                    const Binder& bind, Device& device,
                                                    TruthCache& truth, ValidatedTimer& timer,
                                                    std::uint64_t seed) {
  const auto failed = [&](const Rejection& by, const std::string& because) {
    return std::unexpected(Rejection{by.finding, tested.name() + because + by.message});
  };
  const Verdict gated = Gate(device, truth).check(bind, cases_of(tested, seed));
  if (!gated.passed()) return failed(gated.rejection(), " is not correct: " + gated.finding + ": ");
  const auto bound = bind(tested.problem().shape());
  if (!bound) return failed({Finding::not_bound, bound.error()}, ": ");
  auto timed = timer.time(*bound, Effort::screen);
  if (!timed) return failed(timed.error(), " could not be timed: " + timed.error().finding + ": ");
  return std::move(*timed);
}

}  // namespace fa_tune
