#include "engine/gate/timed_launch.hpp"

#include <algorithm>
#include <deque>

#include <fmt/core.h>

#include "engine/gate/arguments.hpp"
#include "engine/gate/guarded_buffer.hpp"
#include "engine/gate/output_check.hpp"
#include "engine/util/bytes.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::gate {
namespace {

// Launches ahead of an exchange, where they cost a GPU microseconds: enough that a kernel which
// looks back, at a clock or at a count, takes itself to be timed.
constexpr int kLaunchesAhead = 24;
// Of long ones fewer will do.
constexpr int kLeastAhead = 2;
constexpr double kAheadUs = 10'000;

}  // namespace

// One for each tensor of an instance, between guard bands as in the gate: what a kernel can see of
// where it runs must not tell it that it is timed.
class TimedLaunch::Buffers {
 public:
  explicit Buffers(const TensorSource& source) {
    for (std::size_t i = 0; i < source.tensors().size(); ++i) {
      const problem::Tensor& tensor = source.tensors()[i];
      const std::size_t guard = guard_bytes_of(source.device(), tensor);
      held_.emplace_back(source.device(), bytes_of(tensor) + 2 * guard);
      places_.push_back({held_.back().handle(), guard});
      source.write_guarded(i, held_.back().handle(), guard_band().first(guard));
    }
  }

  const std::vector<Place>& places() const { return places_; }

 private:
  std::deque<DeviceBuffer> held_;
  std::vector<Place> places_;
};

TimedLaunch::TimedLaunch(device::Device& device, const BoundKernel& kernel,
                         const problem::Instance& instance)
    : device_(device),
      held_(std::make_shared<const Buffers>(TensorSource(device, instance, nullptr, nullptr))),
      places_(held_->places()) {
  restore_from({device, instance, nullptr, nullptr});
  bind(kernel, instance);
}

TimedLaunch::TimedLaunch(device::Device& device, const BoundKernel& kernel, const EntryPtr& truth,
                         DeviceInputCache* input_cache)
    : device_(device),
      input_cache_(input_cache),
      held_(std::make_shared<const Buffers>(
          TensorSource(device, truth->instance, {truth, &truth->instance}, input_cache))),
      places_(held_->places()) {
  restore_from({device, truth->instance, {truth, &truth->instance}, input_cache});
  bind(kernel, truth->instance);
}

TimedLaunch::TimedLaunch(const TimedLaunch& beside, const BoundKernel& kernel,
                         const problem::Instance& instance)
    : device_(beside.device_),
      held_(beside.held_),
      places_(held_->places()),
      restore_(beside.restore_) {
  bind(kernel, instance);
}

TimedLaunch::~TimedLaunch() = default;

void TimedLaunch::bind(const BoundKernel& kernel, const problem::Instance& instance) {
  make_workspaces(kernel);
  auto launch = make_launch(device_, kernel, instance, [&](std::size_t i) { return place(i); });
  if (!launch) throw MachineError("arguments of the kernel: " + launch.error().message);
  launch_ = std::move(*launch);
}

void TimedLaunch::make_workspaces(const BoundKernel& kernel) {
  problem::Instance own;
  own.tensors = workspaces_ = workspaces_of(kernel);
  const TensorSource source(device_, own, nullptr, nullptr);
  for (std::size_t i = 0; i < workspaces_.size(); ++i) {
    const std::size_t guard = guard_bytes_of(device_, workspaces_[i]);
    workspace_buffers_.emplace_back(device_, bytes_of(workspaces_[i]) + 2 * guard);
    source.write_guarded(i, workspace_buffers_.back().handle(), guard_band().first(guard));
  }
}

Place TimedLaunch::place(std::size_t i) const {
  if (i < places_.size()) return places_[i];
  i -= places_.size();
  return {workspace_buffers_[i].handle(), guard_bytes_of(device_, workspaces_[i])};
}

void TimedLaunch::restore_from(const TensorSource& source) {
  restore_ = {};
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const problem::Tensor& tensor = source.tensors()[i];
    if (!problem::is_written_over(tensor.role)) continue;
    restore_.held.push_back(source.given(i));
    restore_.changes.copies.push_back({restore_.held.back()->handle(), places_[i].buffer,
                                       bytes_of(tensor), 0, places_[i].offset});
  }
}

std::optional<Rejection> TimedLaunch::check(const EntryPtr& truth) {
  return compare_outputs(truth, "under the clock");
}

std::optional<Rejection> TimedLaunch::check_exchanged(const EntryPtr& other, double us) {
  const TensorSource source(device_, other->instance, {other, &other->instance}, input_cache_);
  std::vector<SharedBuffer> held;
  std::vector<device::BufferCopy> copies;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const problem::Tensor& tensor = source.tensors()[i];
    if (!problem::is_given(tensor.role)) continue;
    held.push_back(source.given(i));
    copies.push_back(
        {held.back()->handle(), places_[i].buffer, bytes_of(tensor), 0, places_[i].offset});
  }
  // A launch at the timed shape takes an emulator seconds.
  const double wanted = us > 0 ? kAheadUs / us : kLaunchesAhead;
  const int ahead = device_.info().times == device::TimeKind::measured
                        ? static_cast<int>(std::clamp<double>(wanted, kLeastAhead, kLaunchesAhead))
                        : 1;
  if (const auto done = device_.launch_exchanging(launch_, ahead, restore(), copies); !done)
    return rejection_of(done.error());
  restore_from(source);
  return compare_outputs(other, "in a row of launches, after its inputs changed");
}

std::optional<Rejection> TimedLaunch::check_inputs(const EntryPtr& inputs) const {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const problem::Tensor& tensor = inputs->instance.tensors[i];
    if (tensor.role != problem::Role::input) continue;
    HostMemory memory(bytes_of(tensor));
    if (const auto done = device_.read(places_[i].buffer, places_[i].offset, memory.bytes()); !done)
      return rejection_of(done.error());
    if (const auto differs = first_difference_of_large(memory.bytes(), tensor.bytes))
      return Rejection{.finding = Finding::kInputChanged,
                       .message = "under the clock: wrote to an input: " +
                                  element_name(tensor, *differs / size_of(tensor.type))};
  }
  return std::nullopt;
}

MemoryRefresh TimedLaunch::refresh(const EntryPtr& inputs) const {
  if (workspaces_.empty())
    return {device_, inputs->instance.tensors, [this](std::size_t i) { return places_[i]; }};
  std::vector<problem::Tensor> all;
  for (const problem::Tensor& tensor : inputs->instance.tensors)
    all.push_back({.name = tensor.name,
                   .type = tensor.type,
                   .role = tensor.role,
                   .dims = tensor.dims,
                   .bytes = {}});
  all.insert(all.end(), workspaces_.begin(), workspaces_.end());
  return {device_, all, [this](std::size_t i) { return place(i); }};
}

std::optional<Rejection> TimedLaunch::compare_outputs(const EntryPtr& truth,
                                                      const std::string& when) {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const problem::Tensor& tensor = truth->instance.tensors[i];
    if (!problem::is_result(tensor.role)) continue;
    const auto comparison = compare_on_device(device_, input_cache_, places_[i], tensor, truth);
    if (!comparison) return rejection_of(comparison.error());
    if (comparison->finding != Finding::kPassed)
      return Rejection{comparison->finding, when + ": " + comparison->message};
  }
  return std::nullopt;
}

}  // namespace fa_tune::gate
