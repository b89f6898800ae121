#pragma once

#include <algorithm>

#include "engine/device/emulator/target/profile.hpp"

namespace fa_tune::emulator {

// How much faster than its other reads L2 gives what bulk copies read.
struct BulkGain {
  double at_first = 1;  // when a launch begins
  double later = 1;
};

// How bulk copies of several SMs for the same data come together.
struct Meeting {
  double gain = 1;    // L2 gives them so much faster
  double clocks = 0;  // that a copy waits for the others, at most
};

// The way between a simulated SM and L2. Bytes, clocks.
//
// The SM's port takes one transfer after the other. What L2 gives, all SMs share, but not each its
// part at each moment: while some compute, others get more. So bulk copies of an SM that has asked for
// nothing for a while have its part of that time later, as fast as its port takes it; and so have its
// stores. Loads and cp.async always go at the fixed part: the train variants fit that better.
//
// Beyond that part bulk copies come because L2 gives several SMs what they ask for at the same time.
// To meet, they have to wait: a queue in front of L2 grows until as many are there as it takes. On an
// H200 copies of one block of each SM, which go in step, wait for nothing up to 60 bytes a clock, and
// those of four blocks from 30 on (microbench_h200_copies.json, "one under way").
//
// Stores have a port of their own, and cost L2 more. On an H200 (microbench_h200_fixed.json, "stores")
// one SM stores 32 bytes a clock, by bulk copies or by threads, and each of 132 at a time 18, where it
// could load 34. A sector that a store does not fill takes twice as long as one that it does; and a
// thread's store is issued while 8 to 27 KB are waiting (a log). DRAM gets it later: nobody waits for
// that but loads, which have what it leaves.
class L2Link {
 public:
  // Of which bulk copies and stores have the part later. With twice as many 740 kernels rank the same.
  static constexpr double kSavedClocks = 2000;
  // What an SM takes of bulk copies while others do too; alone an H100's takes up to 118. On an
  // H200 (microbench_h200_copies.json) 8 KB more take 85 to 94 clocks where one block of each SM
  // seldom asks, and 75 to 82 bytes a clock come where all ask for as much as they can.
  static constexpr double kCopiedBytesPerClock = 95;
  static constexpr double kStoredBytesPerClock = 32;
  static constexpr double kStoreCost = 1.9;  // of L2, beside a byte that is loaded
  static constexpr double kWaitingStoreBytes = 16 * 1024;

  // Rates in bytes a clock: the SM's share of what L2 gives, and what its port takes; 0: any.
  // A share of 0: transfers take no time. `store_cost`: what a byte that is stored takes of the share;
  // `stores`: how many L2 takes of the SM; 0: any.
  L2Link(double share, double port, double store_cost = kStoreCost, double stores = 0)
      : share_(share),
        port_(port),
        store_cost_(store_cost),
        stores_(stores > 0 ? std::min(stores, kStoredBytesPerClock) : kStoredBytesPerClock) {}

  // When `bytes` that set out at `at` have gone through.
  double move(double bytes, double at) {
    if (share_ <= 0) return at;
    return take_share(bytes / share_, at);
  }
  // The same for a bulk copy that `receivers` CTAs get: it comes from L2 once, and each of them also
  // receives those of the others through its own port.
  double move_to_all(double bytes, double receivers, const Meeting& meeting, double at) {
    if (share_ <= 0) return at;
    if (port_ > 0)
      port_free_ =
          std::max(port_free_, at) + bytes * receivers / std::min(port_, kCopiedBytesPerClock);
    const double given = take_share(bytes / (share_ * meeting.gain), at - kSavedClocks);
    // When those before it would have been given if none met.
    unmet_free_ = std::clamp(unmet_free_, at - kSavedClocks, at + meeting.clocks);
    const double queue = std::max(unmet_free_ - at, 0.0);
    unmet_free_ += bytes / share_;
    return std::max({given, port_free_, at}) + queue;
  }
  // When L2 has taken `bytes` that are stored at `at`, and `again` for sectors that are not filled.
  double store(double bytes, double at, double again = 0) {
    if (share_ <= 0) return at;
    busy_ += bytes / share_;
    shared_free_ = std::max(shared_free_, at) + store_cost_ * bytes / share_;
    store_port_free_ = std::max(store_port_free_, at) + (bytes + again) / kStoredBytesPerClock;
    stores_free_ = std::max(stores_free_, at - kSavedClocks) + (bytes + again) / stores_;
    return std::max({stores_free_, store_port_free_, at});
  }
  // Issue of a thread's store must wait until then.
  double open_to_stores_from() const {
    return std::max(stores_free_ - kWaitingStoreBytes / stores_,
                    store_port_free_ - kWaitingStoreBytes / kStoredBytesPerClock);
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
  double stores_;
  double shared_free_ = 0;
  double unmet_free_ = 0;
  double port_free_ = 0;
  double stores_free_ = 0;
  double store_port_free_ = 0;
  double busy_ = 0;
};

}  // namespace fa_tune::emulator
