#include "engine/tuner/finals/final_race.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "engine/gate/timed_launch.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/tuner/trial/crash_policy.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::tuner {
namespace {

// Memory that lies before the inputs, so that these are elsewhere than in other processes.
class Pad {
 public:
  Pad(device::Device& device, std::uint64_t seed) : device_(device) {
    constexpr std::uint64_t kMost = 32;
    constexpr std::size_t kMebibyte = std::size_t{1} << 20;
    pad_ = device.allocate((1 + Random(seed).below(kMost)) * kMebibyte);
  }
  ~Pad() { device_.release(pad_); }
  Pad(const Pad&) = delete;
  Pad& operator=(const Pad&) = delete;

 private:
  device::Device& device_;
  device::BufferHandle pad_{};
};

class Race {
 public:
  Race(const TuningTask& task, device::Device& device, kernel::CompilePool& pool,
       const std::vector<Config>& finalists, std::uint64_t seed)
      : task_(task),
        device_(device),
        seed_(seed),
        inputs_(task.problem->make(task.problem->shape(), problem::Inputs::normal,
                                   derive_seed(seed, "final race inputs"))) {
    for (const Config& config : finalists) {
      variants_.push_back(make_variant(task, config, pool, device));
      variants_.back()->begin();
    }
  }

  // In the device's process as it is; `number`: of the process.
  std::expected<measure::LaunchRace, measure::RaceFault> run(const std::vector<std::size_t>& order,
                                                             int number) {
    const auto seed = [&](const std::string& purpose) {
      return derive_seed(seed_, purpose, static_cast<std::uint64_t>(number));
    };
    const Pad pad(device_, seed("final race place"));
    std::vector<std::unique_ptr<gate::TimedLaunch>> timed;
    std::vector<device::Launch> launches;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto bound = variants_[order[i]]->bind(task_.problem->shape());
      if (!bound)
        return std::unexpected(
            measure::RaceFault{i, {device::FaultKind::load_failed, bound.error()}});
      timed.push_back(i == 0
                          ? std::make_unique<gate::TimedLaunch>(device_, *bound, inputs_)
                          : std::make_unique<gate::TimedLaunch>(*timed.front(), *bound, inputs_));
      launches.push_back(timed.back()->launch());
    }
    return measure::race_launches(device_, launches, {.seed = seed("final race")}, device::L2::warm,
                                  timed.front()->restore());
  }

 private:
  const TuningTask& task_;
  device::Device& device_;
  std::uint64_t seed_;
  problem::Instance inputs_;
  std::vector<std::unique_ptr<Variant>> variants_;
};

}  // namespace

FinalRace race_finalists(const TuningTask& task, device::Device& device, kernel::CompilePool& pool,
                         const std::vector<Config>& finalists, std::size_t baseline,
                         std::uint64_t seed, const std::atomic<bool>& stop,
                         const RaceSettings& settings) {
  FinalRace outcome;
  std::vector<std::size_t> in = {baseline};
  for (std::size_t i = 0; i < finalists.size(); ++i)
    if (i != baseline) in.push_back(i);
  Race race(task, device, pool, finalists, seed);
  measure::ProcessSeries series(finalists.size());
  CrashPolicy crashes;  // kernels are finalists; one more than there are is none of them
  FinalRace lost;
  lost.lost = true;
  for (int number = 0; number < settings.processes && in.size() >= 2;) {
    if (stop || !device.renew()) return lost;
    std::expected<measure::LaunchRace, measure::RaceFault> run;
    Attempt ended = attempt_once(device, [&] { run = race.run(in, number); });
    if (ended.lost || (!run && device.lost())) return lost;
    if (ended.broken_off) {
      if (crashes.tries_again(finalists.size(), ended)) continue;
      return outcome;
    }
    if (run) {
      series.add(in, *run);
      settings.process_over(++number);
      continue;
    }
    const auto [contestant, fault] = run.error();
    if (!ended.death && fault.kind == device::FaultKind::device_lost) return outcome;  // no clock
    if (ended.death) ended.death = fault;
    if (crashes.tries_again(in[contestant], ended)) continue;
    const Rejection by_itself{to_text(fault.kind), "in the finals: " + fault.message};
    outcome.failed.push_back({in[contestant], ended.charge.value_or(by_itself)});
    in.erase(in.begin() + static_cast<std::ptrdiff_t>(contestant));
  }
  if (in.size() < 2 || series.processes() < measure::ProcessSeries::kFewest) return outcome;
  outcome.ran = std::move(in);
  outcome.race = series.result(outcome.ran, settings.confidence);
  outcome.processes = series.processes();
  return outcome;
}

}  // namespace fa_tune::tuner
