#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>

#include "engine/device/emulator/timing/pseudo_sass.hpp"

namespace fa_tune::emulator {

struct SimulatedWarp;

// The products of warpgroups (wgmma) that a partition's tensor core has under way, in clocks. They
// run one after another, and some wait in a queue that all warps of the partition share: where it
// is full, a warp stands at its next product until there is room, and warps take turns.
//
// A product reads and writes its sums in the registers that other instructions use too. What is
// issued in the partition meanwhile delays it, but for a share of its time that is free.
//
// Both were measured on an H200 (tools/bench/results/clock). microbench_h200_products.json,
// "clocks_until_8_are_issued": of 16, 24 or 32 products that are asked for at a time all are issued
// when about six are left; one warpgroup issues 8 of 32 clocks in 83, 8 of 64 in 115.
// microbench_h200.json, "beside", less what a group's end takes: a product of 32 clocks takes 33
// beside 13 to 17 instructions, 62 beside 59 and 150 beside 155. Instructions of the ALU take 0.6
// clocks longer themselves, those of the special unit 0.9, which is counted as a delay too. Of the
// constants that fit this these rank the first seed of `tools/bench/emulator/clock/fresh` best.
class ProductQueue {
 public:
  static constexpr std::size_t kPlaces = 6;
  static constexpr double kFreeShare = 0.2;
  static constexpr double kDelay = 1;       // an instruction
  static constexpr double kAluDelay = 0.7;  // more, of the ALU's
  static constexpr double kSpecialDelay = 0.5;
  // Clocks from a product's issue to the next one of the same warp, where there is room.
  static constexpr double kIssueClocks = 8;
  static constexpr double kIssueShare = 0.2;  // of the product's time, if that is longer

  static double issue_clocks(const Cost& product) {
    return std::max(kIssueClocks, kIssueShare * product.holds_unit());
  }

  // When the warp's next product may be issued, if not at `at`.
  std::optional<double> full_until(const SimulatedWarp& warp, double at) {
    while (!begins_.empty() && begins_.front() <= at) begins_.pop_front();
    if (begins_.size() < kPlaces) return std::nullopt;
    // The others' turn is first.
    const double turn = last_ == &warp ? 0.5 : 0;
    const double room = begins_[begins_.size() - kPlaces] + turn;
    return room > at ? std::optional(room) : std::nullopt;
  }

  // Issued at `at`, it is done at `end`.
  void add(const SimulatedWarp& warp, const Cost& product, double at, double end) {
    if (end_ <= at) free_ = 0;
    free_ += kFreeShare * product.holds_unit();
    begins_.push_back(end - product.holds_unit());
    end_ = end;
    last_ = &warp;
  }

  // By how much what is issued at `at` delays those under way.
  double delay(const Cost& cost, double at) {
    if (end_ <= at) return 0;
    const double slower = cost.unit == Unit::alu       ? kAluDelay
                          : cost.unit == Unit::special ? kSpecialDelay
                                                       : 0;
    const double whole = kDelay * cost.issues + slower;
    const double by = std::max(whole - free_, 0.0);
    free_ = std::max(free_ - whole, 0.0);
    end_ += by;
    for (auto begin = begins_.rbegin(); begin != begins_.rend() && *begin > at; ++begin)
      *begin += by;
    return by;
  }

  double end() const { return end_; }  // of the last one

 private:
  std::deque<double> begins_;  // of those that may wait, in order
  double end_ = 0;
  double free_ = 0;  // clocks of delay that those under way have for nothing
  const SimulatedWarp* last_ = nullptr;
};

}  // namespace fa_tune::emulator
