#include "engine/tuner/comparison/kernel_comparison.hpp"

#include <algorithm>

#include "engine/gate/timed_launch.hpp"
#include "engine/measure/timing.hpp"
#include "engine/tuner/trial/gate_and_time.hpp"
#include "engine/tuner/trial/validated_timing.hpp"
#include "engine/util/error.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::tuner {
namespace {

// Both kernels were bound before. If one cannot be bound now, the new process has failed.
gate::BoundKernel bound(const gate::Binder& bind, const problem::Problem& problem) {
  auto launch = bind(problem.shape());
  if (!launch) throw MachineError("a kernel cannot be loaded again: " + launch.error());
  return std::move(*launch);
}

void hold_races(KernelComparison& compare_kernels, const problem::Problem& problem,
                const gate::Binder& bind_a, const gate::Binder& bind_b, device::Device& device,
                const ComparisonOptions& options) {
  const problem::Instance inputs = problem.make(problem.shape(), problem::Inputs::normal,
                                                derive_seed(options.seed, "race inputs"));
  measure::ProcessSeries series(2);
  for (int i = 0; i < options.processes; ++i) {
    if (!device.renew()) throw MachineError(device.info().id + ": lost");
    const gate::TimedLaunch launch_a(device, bound(bind_a, problem), inputs);
    const gate::TimedLaunch launch_b(launch_a, bound(bind_b, problem), inputs);
    const auto seed = derive_seed(options.seed, "race", static_cast<std::uint64_t>(i));
    const auto raced = measure::race_launches(device, {launch_a.launch(), launch_b.launch()},
                                              {.seed = seed}, options.l2, launch_a.restore());
    if (!raced) throw MachineError("the race ended: " + raced.error().fault.message);
    series.add({0, 1}, *raced);
  }
  if (series.processes() < std::min(options.processes, measure::ProcessSeries::kFewest))
    throw MachineError("the clock moved by more than 2% within most blocks: the GPU is not idle");
  const measure::SeriesRace raced = series.result({0, 1});
  const measure::RaceResult& result = raced.result;
  compare_kernels = {.a_us = result.standings[0].time_us,
                     .b_us = result.standings[1].time_us,
                     .a_detail = measure::detail_json_of(raced.timings[0]),
                     .b_detail = measure::detail_json_of(raced.timings[1]),
                     .ratio = result.standings[1].to_baseline,
                     .processes = series.processes(),
                     .blocks = result.blocks,
                     .void_blocks = result.void_blocks};
}

}  // namespace

std::expected<KernelComparison, RejectedContestant> compare_kernels(
    KernelUnderTest& a, KernelUnderTest& b, device::Device& device, kernel::Compiler& compiler,
    kernel::CompilePool& pool, const ComparisonOptions& options) {
  const problem::Problem& problem = a.problem();
  gate::TruthCache truth(problem);
  ValidatedTimer timer(problem, a.target(), device, truth, derive_seed(options.seed, "time"),
                       ValidatedTimer::Proof::where_measured);
  const gate::Binder bind_a = a.on(device, compiler, pool);
  const gate::Binder bind_b = b.on(device, compiler, pool);
  KernelComparison compare_kernels;
  const auto a_us = gate_and_time(a, bind_a, device, truth, timer, options.seed);
  if (!a_us) return std::unexpected(RejectedContestant{0, a_us.error()});
  const auto b_us = gate_and_time(b, bind_b, device, truth, timer, options.seed);
  if (!b_us) return std::unexpected(RejectedContestant{1, b_us.error()});
  if (device.info().times == device::TimeKind::predicted) {
    const double ratio = b_us->time_us.value / a_us->time_us.value;
    compare_kernels.a_us = a_us->time_us;
    compare_kernels.b_us = b_us->time_us;
    compare_kernels.ratio = {ratio, ratio, ratio};
  } else {
    hold_races(compare_kernels, problem, bind_a, bind_b, device, options);
  }
  return compare_kernels;
}

}  // namespace fa_tune::tuner
