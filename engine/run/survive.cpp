#include "engine/run/survive.hpp"

#include "engine/base/error.hpp"

namespace fa_tune {

bool explains_itself(const Fault& death) {
  switch (death.kind) {
    case FaultKind::died:
    case FaultKind::gone:
    case FaultKind::timeout:
    case FaultKind::device_lost:
      return false;
    default:
      return true;
  }
}

std::string deadly_finding(const Fault& death) {
  return death.kind == FaultKind::timeout ? "hang" : "crash";
}

std::string deadly_message(const Fault& death) {
  return "the process that ran it was lost twice: " + death.message;
}

Survival try_once(Device& device, const std::function<void()>& attempt) {
  if (!device.ready()) return {.lost = true, .death = {}};
  const std::size_t before = device.deaths().size();
  bool verdict = true;
  try {
    attempt();
  } catch (const MachineError&) {
    // What a process that was ending could not do says nothing of the machine.
    if (device.deaths().size() == before) throw;
    verdict = false;
  }
  if (device.deaths().size() == before) return {};
  if (verdict && explains_itself(device.deaths().back())) return {};
  return {.lost = false, .death = device.deaths().back()};
}

Survival survive(Device& device, const std::function<void()>& attempt) {
  const Survival first = try_once(device, attempt);
  return first.death ? try_once(device, attempt) : first;
}

}  // namespace fa_tune
