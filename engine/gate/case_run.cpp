#include "engine/gate/case_run.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "engine/gate/arguments.hpp"
#include "engine/gate/output_check.hpp"
#include "engine/util/bytes.hpp"

namespace fa_tune::gate {
namespace {

// Launch::schedule of the runs that follow the sanitized one: every asynchronous operation as early
// as may be, and a draw.
constexpr std::array<std::uint64_t, 2> kAdversarialSchedules = {1, 3};

}  // namespace

// What one run left in the outputs. On the device it is in buffers of its own.
class CaseRun::Outputs {
 public:
  explicit Outputs(device::Device& device) : device_(device) {}
  ~Outputs() {
    for (const First& each : all_)
      if (each.kept) device_.release(*each.kept);
  }
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;

  // In the order of the buffers.
  void take(GuardedBuffer& buffer) { all_.push_back({buffer.take_fetched(), {}}); }
  std::optional<Rejection> copy(const GuardedBuffer& buffer, DeviceInputCache& on_device) {
    all_.push_back({{}, device_.allocate(buffer.data_bytes())});
    const auto done = on_device.copy(buffer.place(), {*all_.back().kept, 0}, buffer.data_bytes());
    return done ? std::nullopt : std::optional(rejection_of(done.error()));
  }
  const First& operator[](std::size_t i) const { return all_[i]; }

 private:
  device::Device& device_;
  std::vector<First> all_;
};

CaseRun::CaseRun(device::Device& device, const BoundKernel& kernel, EntryPtr truth,
                 DeviceInputCache* input_cache)
    : device_(device),
      truth_(std::move(truth)),
      input_cache_(input_cache),
      workspaces_(workspaces_of(kernel)) {
  const problem::Instance& instance = truth_->instance;
  for (const problem::Tensor& tensor : instance.tensors) buffers_.emplace_back(device, tensor);
  for (const problem::Tensor& tensor : workspaces_) buffers_.emplace_back(device, tensor);
  auto launch =
      make_launch(device, kernel, instance, [&](std::size_t i) { return buffers_[i].place(); });
  if (!launch)
    unbound_ = rejection_of(launch.error());
  else
    launch_ = std::move(*launch);
}

bool CaseRun::rests_on_originals() const {
  return std::ranges::any_of(buffers_, [this](const auto& each) { return apart(each); });
}

std::optional<Rejection> CaseRun::check(Verdict& verdict, bool sanitized) {
  if (unbound_) return unbound_;
  const bool can = device_.info().checks;
  if (can && sanitized) launch_.checks = device::Checks::all();
  const bool large = input_bytes() > kLargeInputs;
  if (auto rejection = run(Fill::all, large ? Look::outputs : Look::all)) return rejection;
  if (auto rejection = compare_outputs(verdict)) return rejection;
  Outputs first(device_);
  if (auto rejection = keep_outputs(first)) return rejection;
  launch_.checks = {};
  for (GuardedBuffer& buffer : buffers_) buffer.fill_otherwise();
  // Inputs, if they are not large, and guards have just been seen to be as they were written.
  for (std::size_t i = 0; i < (can && sanitized ? kAdversarialSchedules.size() : 1); ++i) {
    if (can) launch_.schedule = kAdversarialSchedules[i];
    if (auto rejection = run(Fill::outputs)) return rejection;
    if (auto rejection = compare_runs(first)) return rejection;
  }
  return compare_inputs_apart();
}

std::optional<Rejection> CaseRun::check_changed(EntryPtr changed, Verdict& verdict) {
  Outputs before(device_);
  if (auto rejection = keep_outputs(before)) return rejection;
  changed_ = std::move(changed);
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (problem::is_given(buffers_[i].tensor().role))
      buffers_[i].replace(given(i)->instance.tensors[i].bytes);
  launch_.schedule = 0;
  if (auto rejection = run(Fill::inputs)) return rejection;
  auto rejection = compare_outputs(verdict);
  if (!rejection) return compare_inputs_apart();
  if (as_before(before))
    return Rejection{.finding = Finding::kStale,
                     .message = "the output stayed as it was when " + changed_->changed +
                                " changed in its place: " + rejection->message};
  rejection->message =
      "after " + changed_->changed + " changed in its place: " + rejection->message;
  return rejection;
}

std::optional<Rejection> CaseRun::keep_outputs(Outputs& kept) {
  for (GuardedBuffer& buffer : buffers_) {
    if (!problem::is_result(buffer.tensor().role)) continue;
    if (!apart(buffer))
      kept.take(buffer);
    else if (auto rejection = kept.copy(buffer, *input_cache_))
      return rejection;
  }
  return std::nullopt;
}

std::size_t CaseRun::input_bytes() const {
  std::size_t bytes = 0;
  for (const GuardedBuffer& buffer : buffers_)
    if (buffer.tensor().role == problem::Role::input) bytes += buffer.data_bytes();
  return bytes;
}

std::optional<Rejection> CaseRun::fill_apart(std::size_t i) {
  const GuardedBuffer& buffer = buffers_[i];
  if (!problem::is_given(buffer.tensor().role)) {
    const auto done = device_.fill(
        {{buffer.place().buffer, buffer.place().offset, buffer.data_bytes(), buffer.fill_byte()}});
    return done ? std::nullopt : std::optional(rejection_of(done.error()));
  }
  const auto from = input_cache_->of({given(i), &given(i)->instance}, i);
  if (!from) return rejection_of(from.error());
  const auto done = input_cache_->copy({(*from)->handle(), 0}, buffer.place(), buffer.data_bytes());
  return done ? std::nullopt : std::optional(rejection_of(done.error()));
}

std::optional<Rejection> CaseRun::run(Fill what, Look look) {
  // Of a workspace, and of what is unchecked, nobody asks but for its guards.
  const auto is_looked_at = [this, look](const GuardedBuffer& buffer) {
    const problem::Role role = buffer.tensor().role;
    return !apart(buffer) && role != problem::Role::workspace && role != problem::Role::unchecked &&
           (look == Look::all || role != problem::Role::input);
  };
  std::vector<device::BufferWrite> writes;
  std::vector<device::BufferRead> reads;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    GuardedBuffer& buffer = buffers_[i];
    const problem::Role role = buffer.tensor().role;
    // What a launch writes over must be there again for the next.
    if (what == Fill::all || problem::is_written_over(role) ||
        (role == problem::Role::input) == (what == Fill::inputs)) {
      if (stays_unwritten(i)) {
        buffer.fill_guards(writes);
      } else if (!apart(buffer)) {
        buffer.fill(writes);
      } else {
        buffer.fill_guards(writes);
        if (auto rejection = fill_apart(i)) return rejection;
      }
    }
    if (is_looked_at(buffer))
      buffer.fetch(reads);
    else
      buffer.fetch_guards(reads);
  }
  if (const auto done = device_.launch_between(writes, launch_, reads); !done)
    return rejection_of(done.error());
  for (const GuardedBuffer& buffer : buffers_)
    if (auto damage = buffer.guard_damage())
      return Rejection{.finding = Finding::kGuardDamaged, .message = *damage};
  for (const GuardedBuffer& buffer : buffers_)
    if (auto change = is_looked_at(buffer) ? buffer.input_change() : std::nullopt)
      return Rejection{.finding = Finding::kInputChanged, .message = *change};
  return std::nullopt;
}

std::optional<Rejection> CaseRun::compare_outputs(Verdict& verdict) {
  for (const GuardedBuffer& buffer : buffers_) {
    const problem::Tensor& tensor = buffer.tensor();
    if (!problem::is_result(tensor.role)) continue;
    const auto comparison =
        apart(buffer) ? compare_on_device(device_, input_cache_, buffer.place(), tensor, truth())
                      : compare(tensor, buffer.data(), truth()->expectation_of(tensor));
    if (!comparison) return rejection_of(comparison.error());
    verdict.worst_ratio = std::max(verdict.worst_ratio, comparison->worst_ratio);
    verdict.worst_rms = std::max(verdict.worst_rms, comparison->rms);
    if (comparison->finding != Finding::kPassed)
      return Rejection{.finding = comparison->finding, .message = comparison->message};
  }
  return std::nullopt;
}

bool CaseRun::as_before(const Outputs& before) const {
  std::size_t next = 0;
  for (const GuardedBuffer& buffer : buffers_) {
    if (!problem::is_result(buffer.tensor().role)) continue;
    const First& was = before[next++];
    if (was.fetched) {
      if (first_difference_of_large(buffer.data_of(*was.fetched), buffer.data())) return false;
      continue;
    }
    const auto differs =
        input_cache_->first_difference({*was.kept, 0}, buffer.place(), buffer.data_bytes());
    if (!differs || *differs) return false;
  }
  return true;
}

Rejection CaseRun::not_deterministic(const problem::Tensor& tensor, std::size_t byte,
                                     std::span<const std::byte> before,
                                     std::span<const std::byte> now) const {
  const bool other_schedule = launch_.schedule != 0;
  const std::string one = other_schedule ? "in schedule 0" : "in one run";
  const std::string other =
      other_schedule ? fmt::format("in schedule {}", launch_.schedule) : "in the next";
  const std::size_t element = byte / size_of(tensor.type);
  const auto [was, is] = told_apart(tensor.type, before, now, element);
  return {.finding = Finding::kNotDeterministic,
          .message = fmt::format("{} = {} {} and {} {}", element_name(tensor, element), was, one,
                                 is, other)};
}

Rejection CaseRun::never_written(const problem::Tensor& tensor, std::size_t byte) {
  return {.finding = Finding::kWrong,
          .message = element_name(tensor, byte / size_of(tensor.type)) + " is never written"};
}

std::optional<Rejection> CaseRun::compare_runs(const Outputs& first) {
  std::size_t next = 0;
  for (GuardedBuffer& buffer : buffers_) {
    const problem::Tensor& tensor = buffer.tensor();
    if (!problem::is_result(tensor.role)) continue;
    const First& before = first[next++];
    if (before.fetched) {
      const auto bytes = buffer.data_of(*before.fetched);
      const auto differs = first_difference_of_large(bytes, buffer.data());
      if (!differs) continue;
      const std::size_t size = size_of(tensor.type), at = *differs / size * size;
      if (buffer.unwritten(bytes.subspan(at, size), buffer.data().subspan(at, size)))
        return never_written(tensor, at);
      return not_deterministic(tensor, *differs, bytes, buffer.data());
    }
    const auto differs =
        input_cache_->first_difference({*before.kept, 0}, buffer.place(), buffer.data_bytes());
    if (!differs) return rejection_of(differs.error());
    if (!*differs) continue;
    const std::size_t size = size_of(tensor.type), at = **differs / size * size;
    std::vector<std::byte> was(size), now(size);
    for (const auto& [place, bytes] :
         {std::pair(Place{*before.kept, 0}, &was), std::pair(buffer.place(), &now)})
      if (const auto done = device_.read(place.buffer, place.offset + at, *bytes); !done)
        return rejection_of(done.error());
    if (buffer.unwritten(was, now)) return never_written(tensor, at);
    return Rejection{
        .finding = Finding::kNotDeterministic,
        .message = fmt::format("{} in one run and the next",
                               element_name(tensor, **differs / size_of(tensor.type)))};
  }
  return std::nullopt;
}

std::optional<Rejection> CaseRun::compare_inputs_apart() {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const GuardedBuffer& buffer = buffers_[i];
    if (buffer.tensor().role != problem::Role::input || !apart(buffer)) continue;
    const auto from = input_cache_->of({given(i), &given(i)->instance}, i);
    if (!from) return rejection_of(from.error());
    const auto differs =
        input_cache_->first_difference({(*from)->handle(), 0}, buffer.place(), buffer.data_bytes());
    if (!differs) return rejection_of(differs.error());
    if (*differs)
      return Rejection{
          .finding = Finding::kInputChanged,
          .message = "wrote to an input: " +
                     element_name(buffer.tensor(), **differs / size_of(buffer.tensor().type))};
  }
  return std::nullopt;
}

}  // namespace fa_tune::gate
