#include "engine/tuner/loop/device_roster.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace fa_tune::tuner {

std::string state_text(DeviceStanding::State state) {
  using State = DeviceStanding::State;
  switch (state) {
    case State::idle:
      return "idle";
    case State::working:
      return "working";
    case State::lost:
      return "lost";
    case State::retired:
      break;
  }
  return "retired";
}

std::string DeviceRoster::add(const device::Device& device) {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(entries_, &device, &Entry::device);
  if (known != entries_.end()) return known->standing.device;
  const std::string& id = device.info().id;
  const auto same =
      std::ranges::count(entries_, id, [](const Entry& each) { return each.device->info().id; });
  std::string name = same == 0 ? id : fmt::format("{}#{}", id, same + 1);
  entries_.push_back({&device, {.device = name, .since = std::chrono::system_clock::now()}});
  ++changes_;
  return name;
}

void DeviceRoster::works(const device::Device& device, const std::string& does) {
  set(device, DeviceStanding::State::working, does, "");
}
void DeviceRoster::rests(const device::Device& device) {
  set(device, DeviceStanding::State::idle, "", "");
}
void DeviceRoster::lose(const device::Device& device, const std::string& why) {
  set(device, DeviceStanding::State::lost, "", why.empty() ? "no reason is known" : why);
}
void DeviceRoster::retire(const device::Device& device, const std::string& why) {
  set(device, DeviceStanding::State::retired, "", why);
}

void DeviceRoster::set(const device::Device& device, DeviceStanding::State state,
                       const std::string& does, const std::string& why) {
  using State = DeviceStanding::State;
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(entries_, &device, &Entry::device);
  if (found == entries_.end()) return;
  DeviceStanding& now = found->standing;
  if (now.state == State::lost || now.state == State::retired) return;
  if (now.state == state && now.does == does) return;
  now = {now.device, state, does, why, std::chrono::system_clock::now()};
  ++changes_;
}

std::vector<DeviceStanding> DeviceRoster::standings() const {
  const std::lock_guard lock(mutex_);
  std::vector<DeviceStanding> all;
  for (const Entry& each : entries_) all.push_back(each.standing);
  return all;
}

std::uint64_t DeviceRoster::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

}  // namespace fa_tune::tuner
