#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <optional>

#include <fmt/core.h>

#include "engine/base/parallel_bytes.hpp"
#include "engine/gate/arguments.hpp"
#include "engine/gate/compare.hpp"
#include "engine/gate/gate.hpp"
#include "engine/gate/guarded_buffer.hpp"
#include "engine/gate/refusal.hpp"

namespace fa_tune {
namespace {

// Launch::schedule of the runs that follow the watched one: every asynchronous operation as early
// as may be, and a draw.
constexpr std::array<std::uint64_t, 2> adversarial_schedules = {1, 3};

// Inputs of more than this are read back once a case, after its last launch, and not after each: at
// the timed shape that is most of what a trial costs. What a kernel did to them shows then all the
// same, unless one launch undid it after another; and a trial comes here by way of small shapes.
constexpr std::size_t kLargeInputs = std::size_t{16} << 20;

std::string where_text(const GateCase& gate_case) {
  std::string text;
  for (const auto& [name, value] : gate_case.shape) text += name + "=" + to_text(value) + " ";
  return text + fmt::format("inputs={} seed={}", to_text(gate_case.inputs), gate_case.seed);
}

// One kernel on one instance, in buffers of its own.
class CaseRun {
 public:
  CaseRun(Device& device, const BoundKernel& kernel, const TruthCache::Entry& truth)
      : device_(device), truth_(&truth) {
    for (const Tensor& tensor : truth.instance.tensors) buffers_.emplace_back(device, tensor);
    auto launch = make_launch(device, kernel, truth.instance,
                              [&](std::size_t i) { return buffers_[i].place(); });
    if (!launch)
      unbound_ = refusal_of(launch.error());
    else
      launch_ = std::move(*launch);
  }

  // The cheap questions first; further runs only for what the first shows no fault in.
  std::optional<Refusal> check(Verdict& verdict, bool watched) {
    if (unbound_) return unbound_;
    const bool can = device_.info().checks;
    if (can && watched) launch_.checks = Checks::all();
    const bool large = input_bytes() > kLargeInputs;
    if (auto refusal = run(Fill::all, large ? Look::outputs : Look::all)) return refusal;
    if (auto refusal = compare_outputs(verdict)) return refusal;
    const auto first = outputs();
    launch_.checks = {};
    // Inputs, if they are not large, and guards have just been seen to be as they were written.
    for (std::size_t i = 0; i < (can && watched ? adversarial_schedules.size() : 1); ++i) {
      if (can) launch_.schedule = adversarial_schedules[i];
      if (auto refusal = run(Fill::outputs)) return refusal;
      if (auto refusal = compare_runs(first)) return refusal;
    }
    return std::nullopt;
  }

  // After check(): again in the same buffers, with one input changed and the outputs as they were
  // left, for a kernel that takes a finished output for its own. `changed` is the same case with
  // that change; it must outlive this.
  std::optional<Refusal> check_changed(const TruthCache::Entry& changed, Verdict& verdict) {
    const auto before = outputs();
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      if (is_given(buffers_[i].tensor().role))
        buffers_[i].replace(changed.instance.tensors[i].bytes);
    launch_.schedule = 0;
    if (auto refusal = run(Fill::inputs)) return refusal;
    truth_ = &changed;
    auto refusal = compare_outputs(verdict);
    if (refusal && as_before(before))
      return Refusal{.finding = Finding::stale,
                     .message = "the output stayed as it was when " + changed.changed +
                                " changed in its place: " + refusal->message};
    return refusal;
  }

 private:
  enum class Fill { all, inputs, outputs };
  enum class Look { all, outputs };

  std::size_t input_bytes() const {
    std::size_t bytes = 0;
    for (const GuardedBuffer& buffer : buffers_)
      if (buffer.tensor().role == Role::input) bytes += buffer.data_bytes();
    return bytes;
  }

  std::optional<Refusal> run(Fill what, Look look = Look::all) {
    const auto is_looked_at = [look](const GuardedBuffer& buffer) {
      return look == Look::all || buffer.tensor().role != Role::input;
    };
    std::vector<BufferWrite> writes;
    std::vector<BufferRead> reads;
    for (GuardedBuffer& buffer : buffers_) {
      const Role role = buffer.tensor().role;
      // What a launch writes over must be there again for the next.
      if (what == Fill::all || role == Role::inout ||
          (role == Role::input) == (what == Fill::inputs))
        buffer.fill(writes);
      if (is_looked_at(buffer))
        buffer.fetch(reads);
      else
        buffer.fetch_guards(reads);
    }
    if (const auto done = device_.launch_between(writes, launch_, reads); !done)
      return refusal_of(done.error());
    for (const GuardedBuffer& buffer : buffers_)
      if (auto damage = buffer.guard_damage())
        return Refusal{.finding = Finding::guard_damaged, .message = *damage};
    for (const GuardedBuffer& buffer : buffers_)
      if (auto change = is_looked_at(buffer) ? buffer.input_change() : std::nullopt)
        return Refusal{.finding = Finding::input_changed, .message = *change};
    return std::nullopt;
  }

  std::optional<Refusal> compare_outputs(Verdict& verdict) const {
    for (const GuardedBuffer& buffer : buffers_) {
      if (!is_result(buffer.tensor().role)) continue;
      const Comparison comparison =
          compare(buffer.tensor(), buffer.data(), truth_->expectation_of(buffer.tensor()));
      verdict.worst_ratio = std::max(verdict.worst_ratio, comparison.worst_ratio);
      verdict.worst_rms = std::max(verdict.worst_rms, comparison.rms);
      if (comparison.finding != Finding::right)
        return Refusal{.finding = comparison.finding, .message = comparison.message};
    }
    return std::nullopt;
  }

  std::vector<HostMemory> outputs() const {
    std::vector<HostMemory> all;
    for (const GuardedBuffer& buffer : buffers_)
      if (is_result(buffer.tensor().role))
        copy_large(buffer.data(), all.emplace_back(buffer.data_bytes()).bytes());
    return all;
  }

  bool as_before(const std::vector<HostMemory>& before) const {
    std::size_t next = 0;
    for (const GuardedBuffer& buffer : buffers_)
      if (is_result(buffer.tensor().role) &&
          first_difference_of_large(before[next++].bytes(), buffer.data()))
        return false;
    return true;
  }

  std::optional<Refusal> compare_runs(const std::vector<HostMemory>& first) const {
    const bool other_schedule = launch_.schedule != 0;
    const std::string one = other_schedule ? "in schedule 0" : "in one run";
    const std::string other =
        other_schedule ? fmt::format("in schedule {}", launch_.schedule) : "in the next";
    std::size_t next = 0;
    for (const GuardedBuffer& buffer : buffers_) {
      const Tensor& tensor = buffer.tensor();
      if (!is_result(tensor.role)) continue;
      const auto before = first[next++].bytes();
      const auto differs = first_difference_of_large(before, buffer.data());
      if (!differs) continue;
      const std::size_t element = *differs / size_of(tensor.type);
      return Refusal{
          .finding = Finding::not_deterministic,
          .message = fmt::format("{} = {:.6g} {} and {:.6g} {}", element_name(tensor, element),
                                 element_value(tensor.type, before, element), one,
                                 element_value(tensor.type, buffer.data(), element), other)};
    }
    return std::nullopt;
  }

  Device& device_;
  const TruthCache::Entry* truth_;
  std::deque<GuardedBuffer> buffers_;
  Launch launch_;
  std::optional<Refusal> unbound_;
};

}  // namespace

Verdict Gate::check(const Binder& bind, const std::vector<GateCase>& cases) {
  Verdict verdict;
  for (const GateCase& gate_case : cases) {
    ++verdict.cases;
    std::optional<Refusal> refusal;
    if (const auto kernel = bind(gate_case.shape)) {
      const auto truth = truth_.get(gate_case);
      CaseRun run(device_, *kernel, *truth);
      refusal = run.check(verdict, gate_case.watched);
      if (!refusal && gate_case.changed_input)
        refusal = run.check_changed(*truth_.get_changed(gate_case), verdict);
    } else {
      refusal = Refusal{.finding = Finding::not_bound, .message = kernel.error()};
    }
    if (!refusal) continue;
    verdict.finding = refusal->finding;
    verdict.message = refusal->message;
    verdict.where = where_text(gate_case);
    break;
  }
  return verdict;
}

}  // namespace fa_tune
