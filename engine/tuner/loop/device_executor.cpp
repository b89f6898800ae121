#include "engine/tuner/loop/device_executor.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "engine/util/stopwatch.hpp"

namespace fa_tune::tuner {

DeviceExecutor::DeviceExecutor(std::span<device::Device* const> devices, TaskQueue& queue)
    : queue_(queue) {
  try {
    for (device::Device* device : devices) add(*device);
  } catch (...) {
    stop();
    throw;
  }
}

void DeviceExecutor::add(device::Device& device) {
  const std::size_t slot = threads_.size();
  {
    const std::lock_guard lock(mutex_);
    slots_.emplace_back(device);
  }
  threads_.emplace_back([this, slot, &device] { run(slot, device); });
}

void DeviceExecutor::stop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    waiting_.clear();
    call_all();
  }
  threads_.clear();  // joins them
}

void DeviceExecutor::call(Slot& slot) {
  if (std::exchange(slot.waits, false)) slot.called.notify_one();
}

void DeviceExecutor::call_all() {
  for (Slot& slot : slots_) call(slot);
}

void DeviceExecutor::submit(Job job) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({std::move(job)});
  ++under_way_;
  const auto free = std::ranges::find_if(
      slots_, [](const Slot& slot) { return slot.waits && !slot.holds && !slot.over; });
  if (free != slots_.end()) call(*free);
}

void DeviceExecutor::resubmit(Job job, std::size_t slot) {
  const std::lock_guard lock(mutex_);
  waiting_.push_front({std::move(job), slot});
  ++under_way_;
  call_all();
}

void DeviceExecutor::retire(std::size_t slot) {
  const std::lock_guard lock(mutex_);
  slots_[slot].over = true;
  // What was not to go to it may now have to go to the last one that is left.
  call_all();
}

void DeviceExecutor::cancel_waiting() {
  const std::lock_guard lock(mutex_);
  under_way_ -= waiting_.size();
  waiting_.clear();
}

std::size_t DeviceExecutor::count_alive() const {
  return static_cast<std::size_t>(std::ranges::count(slots_, false, &Slot::over));
}

std::size_t DeviceExecutor::alive() const {
  const std::lock_guard lock(mutex_);
  return count_alive();
}

bool DeviceExecutor::alive(std::size_t slot) const {
  const std::lock_guard lock(mutex_);
  return !slots_[slot].over;
}

std::size_t DeviceExecutor::under_way() const {
  const std::lock_guard lock(mutex_);
  return under_way_;
}

ExecutorTimes DeviceExecutor::times() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

std::deque<DeviceExecutor::Waiting>::iterator DeviceExecutor::next_for(std::size_t slot) {
  const bool alone = count_alive() == 1;
  return std::ranges::find_if(
      waiting_, [&](const Waiting& waiting) { return alone || waiting.not_in != slot; });
}

// Nothing if the slot is over.
std::optional<DeviceExecutor::Waiting> DeviceExecutor::take(std::size_t slot) {
  const Stopwatch idle;
  const double desk_was_busy_ms = queue_.busy_ms();
  std::unique_lock lock(mutex_);
  Slot& own = slots_[slot];
  while (!ending_ && !own.over && (own.holds || next_for(slot) == waiting_.end())) {
    own.waits = true;
    own.called.wait(lock);
  }
  own.waits = false;
  if (ending_ || own.over) return std::nullopt;
  times_.idle_ms += idle.milliseconds();
  times_.idle_for_engine_ms += queue_.busy_ms() - desk_was_busy_ms;
  const auto next = next_for(slot);
  Waiting taken = std::move(*next);
  waiting_.erase(next);
  return taken;
}

void DeviceExecutor::tell(std::size_t slot, Job job, const Attempt& ended) {
  {
    const std::lock_guard lock(mutex_);
    Slot& own = slots_[slot];
    own.over = own.over || ended.lost || own.device->lost();
    own.holds = ended.unexplained();
    if (own.over) call_all();
  }
  queue_.post([this, slot, ended, told = std::move(job)] {
    {
      const std::lock_guard lock(mutex_);
      --under_way_;
    }
    told.done(slot, ended);
    const std::lock_guard lock(mutex_);
    slots_[slot].holds = false;
    call(slots_[slot]);
  });
}

void DeviceExecutor::run(std::size_t slot, device::Device& device) {
  while (auto taken = take(slot)) {
    Job& job = taken->job;
    const Stopwatch busy;
    try {
      device.note_incumbent(incumbent_us_);
      if (taken->not_in) device.renew();
      Attempt ended = attempt_once(device, [&] { job.work(device, slot); });
      if (device.lost()) ended.lost_because = device.lost_because();
      {
        const std::lock_guard lock(mutex_);
        times_.busy_ms += busy.milliseconds();
      }
      tell(slot, std::move(job), ended);
    } catch (...) {
      // What a person must mend is for the run to say.
      queue_.post([error = std::current_exception()] { std::rethrow_exception(error); });
      return;
    }
  }
}

}  // namespace fa_tune::tuner
