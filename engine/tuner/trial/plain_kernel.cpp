#include "engine/tuner/trial/plain_kernel.hpp"

#include <fmt/core.h>

#include "engine/gate/timed_launch.hpp"
#include "engine/measure/timing.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/tuner/trial/crash_policy.hpp"
#include "engine/tuner/trial/validated_timing.hpp"
#include "engine/util/error.hpp"
#include "engine/util/printable.hpp"
#include "engine/util/stopwatch.hpp"

namespace fa_tune::tuner {
namespace {

// Of a launch that takes longer, three samples are enough.
constexpr double kSlowUs = 500'000;
// A clock and its proofs launch it a dozen times and more.
constexpr double kMostSeconds = 3;

db::PlainKernelRow not_timed(const std::string& message) {
  db::PlainKernelRow row;
  row.message = message_line(message);
  return row;
}

// Why it is not to be timed, after one launch of it, where launches take their time.
std::optional<std::string> not_worth_timing(device::Device& device, const gate::BoundKernel& kernel,
                                            const gate::TimedLaunch::EntryPtr& inputs) {
  if (device.info().times == device::TimeKind::predicted) return std::nullopt;
  const gate::TimedLaunch once(device, kernel, inputs, nullptr);
  const Stopwatch watch;
  if (const auto done = device.launch(once.launch()); !done)
    return to_text(done.error().kind) + ": " + done.error().message;
  const double seconds = watch.milliseconds() / 1000;
  if (seconds < kMostSeconds) return std::nullopt;
  return fmt::format("a launch takes {:.1f} s, and longer than {:.0f} s is too long for a clock",
                     seconds, kMostSeconds);
}

}  // namespace

std::optional<db::PlainKernelRow> time_plain_kernel(const TuningTask& task, device::Device& device,
                                                    kernel::CompilePool& pool,
                                                    gate::TruthCache& truth, std::uint64_t seed) {
  const kernel::Template* const plain = task.problem->plain_kernel();
  if (plain == nullptr) return std::nullopt;
  ValidatedTimer timer(*task.problem, task.target, device, truth, seed,
                       ValidatedTimer::Proof::where_measured);
  const auto variant = make_variant(task, *plain, Config(), pool, device);
  std::optional<db::PlainKernelRow> row;
  const auto attempt = [&] {
    const auto bound = variant->bind(task.problem->shape());
    if (!bound) {
      row = not_timed(bound.error());
      return;
    }
    const auto inputs = truth.get(
        {.shape = task.problem->shape(), .inputs = problem::Inputs::normal, .seed = seed});
    if (const auto why = not_worth_timing(device, *bound, inputs)) {
      row = not_timed(*why);
      return;
    }
    const auto measured = timer.time(*bound, measure::Effort::screen, kSlowUs);
    if (!measured) {
      row = not_timed(measured.error().finding + ": " + measured.error().message);
      return;
    }
    row = db::PlainKernelRow{db::ScreenTime{measured->time_us},
                             measure::detail_json_of(measured->timing), ""};
  };
  for (OutsideKills kills;;) {
    const Attempt ended = attempt_once(device, attempt);
    if (ended.lost) return std::nullopt;
    if (!ended.death) return row;
    // What hung or died once is not worth as long again.
    if (ended.death->kind != device::FaultKind::killed)
      return not_timed(to_text(ended.death->kind) + ": " + ended.death->message);
    if (!kills.bearable()) throw MachineError("the plain kernel cannot be timed: " + kills.text());
  }
}

}  // namespace fa_tune::tuner
