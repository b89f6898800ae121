#pragma once

#include <algorithm>

#include "engine/device/emulator/target/profile.hpp"

namespace fa_tune::emulator {

// The way between a simulated SM and L2, one transfer after the other. Bytes, clocks.
class L2Link {
 public:
  // Rates in bytes a clock: the SM's share of what L2 gives, and what its port takes. A share of 0:
  // transfers take no time.
  L2Link(double share, double port) : share_(share), port_(port) {}

  // When `bytes` that set out at `at` have gone through.
  double move(double bytes, double at) {
    if (share_ <= 0) return at;
    const double clocks = bytes / share_;
    free_ = std::max(free_, at) + clocks;
    busy_ += clocks;
    return free_;
  }
  // The same for a bulk copy that `receivers` CTAs get: it comes from L2 once, and each of them also
  // receives those of the others through its own port.
  double move_to_all(double bytes, double receivers, double at) {
    const double ports = port_ > 0 ? receivers * share_ / port_ : 1;
    return move(bytes * std::max(ports, 1.0), at);
  }
  double busy() const { return busy_; }

 private:
  double share_;
  double port_;
  double free_ = 0;
  double busy_ = 0;
};

}  // namespace fa_tune::emulator
