#include "engine/tuner/trial/sanitizer_check.hpp"

#include <algorithm>
#include <array>
#include <thread>

#include <fmt/core.h>

#include "engine/tuner/task/variant.hpp"
#include "engine/tuner/trial/crash_policy.hpp"
#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::tuner {
namespace {

// What says of the emulator, and not of the kernel, that it went no further. The kernel ends on a
// GPU, so that it does not end here is nothing against it either.
constexpr std::array kNotTheKernels = {
    device::FaultKind::load_failed, device::FaultKind::unknown_instruction,
    device::FaultKind::resources,   device::FaultKind::timeout,
    device::FaultKind::unfinished,  device::FaultKind::device_lost,
};

bool is_of_the_kernel(const gate::Verdict& verdict) {
  // A GPU has built and launched it.
  if (verdict.finding == gate::Finding::kNotBound) return false;
  return verdict.finding != gate::Finding::kFault ||
         std::ranges::none_of(kNotTheKernels, [&](device::FaultKind kind) {
           return verdict.message.starts_with(to_text(kind) + ":");
         });
}

}  // namespace

std::string SanitizerResult::text() const {
  if (whole()) return fmt::format("all {} cases", of);
  if (cases == 0) return "not checked: " + cut_short;
  return fmt::format("{} of {} cases: {}", cases, of, cut_short);
}

SanitizerCheck::SanitizerCheck(const TuningTask& task, const device::Device& device,
                               kernel::CompilePool& pool, EmulatorOpener open, std::uint64_t seed,
                               std::uint64_t instructions)
    : task_(task),
      pool_(pool),
      open_(std::move(open)),
      truth_(*task.problem),
      instructions_(instructions),
      cores_(std::max(1, static_cast<int>(std::thread::hardware_concurrency()))) {
  const device::DeviceInfo& info = device.info();
  if (info.checks) return;
  if (open_ == nullptr) {
    log_warning("there is no emulator: no kernel is checked for races");
    return;
  }
  profile_ = device::profile_of_device(info.name, info.arch, info.sms, task.root);
  if (!profile_)
    log_warning("no device profile is of {}: no kernel is checked for races", info.arch);
  if (const auto quick = problem::find_suite(*task.problem, problem::SuiteName::quick))
    cases_ = gate::gate_cases(*quick, derive_seed(seed, "watch"), gate::Crossing::sanitized);
  const auto too_large = [&](const gate::GateCase& each) {
    return task.problem->bytes(each.shape) > kMostBytes;
  };
  left_out_ = static_cast<int>(std::erase_if(cases_, too_large));
  if (profile_ && left_out_ > 0)
    log_warning(
        "the problem is too large for the emulator: its look for races and barriers in the finals "
        "leaves {} cases out; a space can say smaller sizes beside the timed one",
        left_out_);
}

std::future<SanitizerResult> SanitizerCheck::start(const kernel::Template& from,
                                                   const Config& config) {
  if (!enabled()) {
    std::promise<SanitizerResult> nothing;
    SanitizerResult none;
    if (left_out_ > 0) none.cut_short = "its cases are too large";
    nothing.set_value(none);
    return nothing.get_future();
  }
  return std::async(std::launch::async, [this, from, config] {
    cores_.acquire();
    try {
      SanitizerResult seen = run(from, config);
      cores_.release();
      return seen;
    } catch (...) {
      cores_.release();
      throw;
    }
  });
}

SanitizerResult SanitizerCheck::run(const kernel::Template& from, const Config& config) {
  SanitizerResult result;
  result.of = static_cast<int>(cases_.size()) + left_out_;
  for (int i = 0; i < CrashPolicy::kMostDeaths && !over_; ++i) {
    try {
      if (auto seen = try_to_run(from, config)) return *seen;
      result.cut_short = "the emulator's process died";
    } catch (const MachineError& error) {
      result.cut_short = error.what();
    }
  }
  return result;
}

std::optional<SanitizerResult> SanitizerCheck::try_to_run(const kernel::Template& from,
                                                          const Config& config) {
  const auto emulator = open_(*profile_, instructions_);
  const auto variant = make_variant(task_, from, config, pool_, *emulator);
  const gate::Verdict verdict = gate::Gate(*emulator, truth_).check(variant->binder(), cases_);
  if (!emulator->deaths().empty()) return std::nullopt;
  SanitizerResult result;
  result.cases = verdict.cases - (verdict.passed() ? 0 : 1);
  result.of = static_cast<int>(cases_.size()) + left_out_;
  if (verdict.passed()) {
    if (left_out_ > 0) result.cut_short = "the others are too large";
  } else if (is_of_the_kernel(verdict)) {
    result.rejection = verdict.rejection();
    result.rejection->message.insert(0, "on " + emulator->info().id + ": ");
  } else {
    result.cut_short = verdict.message;
  }
  return result;
}

}  // namespace fa_tune::tuner
