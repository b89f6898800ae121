#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engine/device/device.hpp"

namespace fa_tune {

// A kernel that ends the process it runs in so often is charged with it.
inline constexpr int kMostDeaths = 2;

// How a kernel's try on a device ended, as far as the device goes.
struct Survival {
  bool lost = false;           // the device is: nothing is said about the kernel
  std::optional<Fault> death;  // with which the process ended and which no error of the kernel's
                               // explains (an illegal address does, a crash of the driver does not)
};

// What the device says of a kernel in so many words is the kernel's own, though it may cost the
// process: an illegal address, say. A process that just ended, or did not, explains nothing.
bool explains_itself(const Fault& death);

// How a trial is recorded whose kernel was charged with a death: "hang" or "crash", and a line.
std::string deadly_finding(const Fault& death);
std::string deadly_message(const Fault& death);

// Runs `attempt`, which takes one kernel through stages on the device. It is begun only on a device
// that is ready.
Survival try_once(Device& device, const std::function<void()>& attempt);

// The same, and if the process died unexplained it is run once more, alone in a new process: a
// kernel is charged with the second death only.
Survival survive(Device& device, const std::function<void()>& attempt);

}  // namespace fa_tune
