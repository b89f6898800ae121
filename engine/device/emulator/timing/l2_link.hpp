#pragma once

#include <algorithm>

#include "engine/device/emulator/target/profile.hpp"

namespace fa_tune::emulator {

// The way between a simulated SM and L2. Bytes, clocks.
//
// The SM's port takes one transfer after the other. What L2 gives, all SMs share, but not each its
// part at each moment: while some compute, others get more. So bulk copies of an SM that has asked for
// nothing for a while have its part of that time later, as fast as its port takes it. Loads and
// cp.async always go at the fixed part: the train variants fit that better.
//
// Stores have a port of their own, and cost L2 more. On an H200 (microbench_h200_fixed.json, "stores")
// one SM stores 32 bytes a clock, by bulk copies or by threads, and each of 132 at a time 18, where it
// could load 34.
class L2Link {
 public:
  // Of which bulk copies have the part later. With twice as many 740 kernels rank the same.
  static constexpr double kSavedClocks = 2000;
  static constexpr double kStoredBytesPerClock = 32;
  static constexpr double kStoreCost = 1.9;  // of L2, beside a byte that is loaded

  // Rates in bytes a clock: the SM's share of what L2 gives, and what its port takes; 0: any.
  // A share of 0: transfers take no time. `store_cost`: what a byte that is stored takes of the share.
  L2Link(double share, double port, double store_cost = kStoreCost)
      : share_(share), port_(port), store_cost_(store_cost) {}

  // When `bytes` that set out at `at` have gone through.
  double move(double bytes, double at) {
    if (share_ <= 0) return at;
    return take_share(bytes / share_, at);
  }
  // The same for a bulk copy that `receivers` CTAs get, and L2 gives `gain` times as fast: it comes
  // from L2 once, and each of them also receives those of the others through its own port.
  double move_to_all(double bytes, double receivers, double gain, double at) {
    if (share_ <= 0) return at;
    if (port_ > 0) port_free_ = std::max(port_free_, at) + bytes * receivers / port_;
    return std::max({take_share(bytes / (share_ * gain), at - kSavedClocks), port_free_, at});
  }
  // When `bytes` that are stored at `at` have left the SM.
  double store(double bytes, double at) {
    if (share_ <= 0) return at;
    stores_free_ = std::max(stores_free_, at) + bytes / kStoredBytesPerClock;
    busy_ += bytes / share_;
    shared_free_ = std::max(shared_free_, at) + store_cost_ * bytes / share_;
    return std::max(shared_free_, stores_free_);
  }
  double busy() const { return busy_; }  // clocks of the SM's share

 private:
  // Takes `clocks` of the SM's share, of those that are left since `from`. Returns when they are over.
  double take_share(double clocks, double from) {
    busy_ += clocks;
    return shared_free_ = std::max(shared_free_, from) + clocks;
  }

  double share_;
  double port_;
  double store_cost_;
  double shared_free_ = 0;
  double port_free_ = 0;
  double stores_free_ = 0;
  double busy_ = 0;
};

}  // namespace fa_tune::emulator
