#include "engine/tuner/trial/crash_policy.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "engine/util/error.hpp"

namespace fa_tune::tuner {

bool Attempt::unexplained() const {
  using enum device::FaultKind;
  constexpr std::array kSilent = {died, killed, gone, timeout, device_lost};
  return death && (broken_off || std::ranges::count(kSilent, death->kind) > 0);
}

bool CrashPolicy::tries_again(std::uint64_t kernel, Attempt& ended, std::size_t device) {
  if (!ended.unexplained()) return ended.lost;
  if (ended.death->kind == device::FaultKind::killed) {
    OutsideKills& kills = kills_[kernel];
    if (kills.bearable()) return true;
    throw MachineError("a trial cannot be run: " + kills.text());
  }
  kills_.erase(kernel);
  died_on_[kernel].push_back(device);
  if (died_on_[kernel].size() < kMostDeaths) return true;
  died_on_.erase(kernel);
  ended.charge = {ended.death->kind == device::FaultKind::timeout ? "hang" : "crash",
                  "the process that ran it was lost twice: " + ended.death->message};
  return false;
}

std::optional<Rejection> CrashPolicy::left_under_way(int times) {
  if (times < kMostDeaths) return std::nullopt;
  return Rejection{"crash", fmt::format("it was under way {} times when a process died", times)};
}

// A kernel that ends one device's process and not another's was not what ended it.
std::optional<std::size_t> CrashPolicy::survived(std::uint64_t kernel, std::size_t device) {
  kills_.erase(kernel);
  const auto died_on = died_on_.extract(kernel);
  const std::size_t first = died_on ? died_on.mapped().front() : device;
  int& in_a_row = false_deaths_[first];
  in_a_row = first == device ? 0 : in_a_row + 1;
  return in_a_row < kMostFalseDeaths ? std::nullopt : std::optional(first);
}

std::string CrashPolicy::settled(bool charged, const std::string& message) {
  charged_in_a_row_ = charged ? charged_in_a_row_ + 1 : 0;
  if (charged_in_a_row_ < kMostChargedInARow) return {};
  return fmt::format(
      "{} kernels in a row ended the process that ran them, the last one: {}; the device or its "
      "driver cannot be trusted",
      charged_in_a_row_, message);
}

Attempt attempt_once(device::Device& device, const std::function<void()>& attempt) {
  if (!device.ready()) return {.lost = true};
  const std::size_t before = device.deaths().size();
  Attempt ended;
  try {
    attempt();
  } catch (const DeviceGone&) {
    if (!device.lost()) throw;
    return {.lost = true};
  } catch (const MachineError&) {
    // What a process that was ending could not do says nothing of the machine.
    if (device.deaths().size() == before) throw;
    ended.broken_off = true;
  }
  if (device.deaths().size() > before) ended.death = device.deaths().back();
  return ended;
}

Attempt run_with_retry(device::Device& device, const std::function<void()>& attempt) {
  CrashPolicy policy;
  for (;;) {
    Attempt ended = attempt_once(device, attempt);
    if (ended.lost || !policy.tries_again(0, ended)) return ended;
  }
}

}  // namespace fa_tune::tuner
