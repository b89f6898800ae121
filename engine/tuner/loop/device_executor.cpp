#include "engine/tuner/loop/device_executor.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "engine/util/stopwatch.hpp"

namespace fa_tune {

Lanes::Lanes(std::span<Device* const> devices, TaskQueue& queue) : queue_(queue) {
  for (Device* device : devices) slots_.push_back({device});
  try {
    for (std::size_t i = 0; i < slots_.size(); ++i) threads_.emplace_back([this, i] { run(i); });
  } catch (...) {
    stop();
    throw;
  }
}

void Lanes::stop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  threads_.clear();  // joins them
}

void Lanes::hand_out(Job job) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(job)});
    ++under_way_;
  }
  changed_.notify_all();
}

void Lanes::hand_out_again(Job job, std::size_t lane) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_front({std::move(job), lane});
    ++under_way_;
  }
  changed_.notify_all();
}

void Lanes::set_aside(std::size_t lane) {
  {
    const std::lock_guard lock(mutex_);
    slots_[lane].over = true;
  }
  // What was not to go to it may now have to go to the last one that is left.
  changed_.notify_all();
}

void Lanes::drop_waiting() {
  const std::lock_guard lock(mutex_);
  under_way_ -= waiting_.size();
  waiting_.clear();
}

std::size_t Lanes::count_alive() const {
  return static_cast<std::size_t>(std::ranges::count(slots_, false, &Lane::over));
}

std::size_t Lanes::alive() const {
  const std::lock_guard lock(mutex_);
  return count_alive();
}

bool Lanes::alive(std::size_t lane) const {
  const std::lock_guard lock(mutex_);
  return !slots_[lane].over;
}

std::size_t Lanes::under_way() const {
  const std::lock_guard lock(mutex_);
  return under_way_;
}

LaneTimes Lanes::times() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

std::deque<Lanes::Waiting>::iterator Lanes::next_for(std::size_t lane) {
  const bool alone = count_alive() == 1;
  return std::ranges::find_if(
      waiting_, [&](const Waiting& waiting) { return alone || waiting.not_in != lane; });
}

// Nothing if the lane is over.
std::optional<Lanes::Waiting> Lanes::take(std::size_t lane) {
  const Stopwatch idle;
  const double desk_was_busy_ms = queue_.busy_ms();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    const Lane& own = slots_[lane];
    return ending_ || own.over || (!own.holds && next_for(lane) != waiting_.end());
  });
  if (ending_ || slots_[lane].over) return std::nullopt;
  times_.idle_ms += idle.milliseconds();
  times_.idle_for_engine_ms += queue_.busy_ms() - desk_was_busy_ms;
  const auto next = next_for(lane);
  Waiting taken = std::move(*next);
  waiting_.erase(next);
  return taken;
}

void Lanes::tell(std::size_t lane, Job job, const Try& ended) {
  bool lost = false;
  {
    const std::lock_guard lock(mutex_);
    Lane& own = slots_[lane];
    own.over = lost = own.over || ended.lost || own.device->lost();
    own.holds = ended.unexplained();
  }
  if (lost) changed_.notify_all();
  queue_.post([this, lane, ended, told = std::move(job)] {
    {
      const std::lock_guard lock(mutex_);
      --under_way_;
    }
    told.done(lane, ended);
    {
      const std::lock_guard lock(mutex_);
      slots_[lane].holds = false;
    }
    changed_.notify_all();
  });
}

void Lanes::run(std::size_t lane) {
  Device& device = *slots_[lane].device;
  while (auto taken = take(lane)) {
    Job& job = taken->job;
    const Stopwatch busy;
    try {
      device.note_incumbent(incumbent_us_);
      if (taken->not_in) device.renew();
      const Try ended = try_once(device, [&] { job.work(device, lane); });
      {
        const std::lock_guard lock(mutex_);
        times_.busy_ms += busy.milliseconds();
      }
      tell(lane, std::move(job), ended);
    } catch (...) {
      // What a person must mend is for the run to say.
      queue_.post([error = std::current_exception()] { std::rethrow_exception(error); });
      return;
    }
  }
}

}  // namespace fa_tune
