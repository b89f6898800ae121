#include "engine/run/watch.hpp"

#include "engine/base/log.hpp"
#include "engine/base/random.hpp"
#include "engine/device/emulated.hpp"
#include "engine/run/variant.hpp"

namespace fa_tune {

Watch::Watch(const Project& project, const Device& device, CompilePool& pool, std::uint64_t seed,
             std::chrono::milliseconds longest)
    : project_(project), pool_(pool), truth_(*project.problem), longest_(longest) {
  if (device.info().checks) return;
  profile_ = profile_of_arch(device.info().arch, project.root);
  if (!profile_)
    log_warning("no device profile is of {}: no kernel is looked at for races", device.info().arch);
  if (const auto quick = find_suite(*project.problem, SuiteName::quick))
    cases_ = gate_cases(*quick, derive_seed(seed, "watch"));
  const auto too_large = [&](const GateCase& each) {
    return project.problem->bytes(each.shape) > kMostBytes;
  };
  if (profile_ && std::erase_if(cases_, too_large) > 0) say_cut_short();
}

void Watch::say_cut_short() {
  if (!said_.exchange(true))
    log_warning(
        "the problem is too large for the emulator: its look for races and barriers in the finals "
        "is cut short; a space can say smaller sizes beside the timed one");
}

Watch::Answer Watch::look(const Template& from, const Config& config) {
  if (!watches()) {
    std::promise<std::optional<ClockRefusal>> nothing;
    nothing.set_value(std::nullopt);
    return nothing.get_future();
  }
  return std::async(std::launch::async, [this, from, config] { return see(from, config); });
}

std::optional<ClockRefusal> Watch::see(const Template& from, const Config& config) {
  const auto until = std::chrono::steady_clock::now() + longest_;
  const auto emulator = open_emulator(*profile_, 1, until);
  Variant variant(
      from, *project_.problem, [this](const Constants& shape) { return project_.scope(shape); },
      config, pool_, *emulator);
  const Verdict verdict = Gate(*emulator, truth_).check(variant.binder(), cases_);
  if (verdict.right()) return std::nullopt;
  // Time that ran out is nothing against a kernel.
  if (std::chrono::steady_clock::now() >= until &&
      verdict.message.starts_with(to_text(FaultKind::timeout))) {
    say_cut_short();
    return std::nullopt;
  }
  return ClockRefusal{to_text(verdict.finding), "on " + emulator->info().id + ": " +
                                                    verdict.message + " (" + verdict.where + ")"};
}

}  // namespace fa_tune
