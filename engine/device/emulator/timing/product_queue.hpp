#pragma once

#include <algorithm>
#include <cmath>
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
// While a product runs, other instructions of the partition are issued in one of kSlotClocks, from
// kFirstSlot on, and do not delay it. A product begins in a clock in which none of them is ready:
// so those that follow each other clock by clock keep the next product from beginning.
//
// All of this was measured on an H200 (tools/bench/results/clock). microbench_h200_products.json:
// of 16, 24 or 32 products that are asked for at a time all are issued when about six are left
// ("clocks_until_8_are_issued"); products of one warp whose A is in registers take 3 to 8 clocks
// more each ("clocks_of_a_group_of_so_many"). microbench_h200_slots.json, "beside": an instruction
// of the ALU, or of two chains of FMAs, is issued every 3.3 to 4.1 clocks, and the products take an
// eighth longer at most; beside four chains, of which one is ready in each clock, 1.4 to 4 times as
// long. Of one chain an instruction takes 5.0 clocks beside products of 32 clocks, and 4.6 beside
// those of 64: slots are late at the beginning of each.
class ProductQueue {
 public:
  static constexpr std::size_t kPlaces = 6;
  // In the clocks of arithmetic: a chain of FMAs finds each slot.
  static constexpr double kSlotClocks = 4;
  static constexpr double kFirstSlot = 8;
  static constexpr double kOperandClocks = 4;  // of an A in registers
  // Clocks from a product's issue to the next one of the same warp, where there is room.
  static constexpr double kIssueClocks = 8;
  static constexpr double kIssueShare = 0.2;  // of the product's time, if that is longer

  static double issue_clocks(const Cost& product) {
    return std::max(kIssueClocks, kIssueShare * product.holds_unit());
  }

  // When the warp's next product may be issued, if not at `at`.
  std::optional<double> full_until(const SimulatedWarp& warp, double at) const {
    if (products_.size() < kPlaces) return std::nullopt;
    // The others' turn is first.
    const double turn = last_ == &warp ? 0.5 : 0;
    const double room = products_[products_.size() - kPlaces].begin + turn;
    return room > at ? std::optional(room) : std::nullopt;
  }

  // Issued at `at`. Returns when it is done.
  double add(const SimulatedWarp& warp, const Cost& product, double at) {
    forget_done(at);
    const bool follows_own = last_ == &warp && end_ > at;
    const double begin =
        std::max(end_, at) + (follows_own && product.a_in_registers ? kOperandClocks : 0);
    end_ = begin + product.holds_unit();
    products_.push_back({begin, end_, product.latency});
    last_ = &warp;
    return end_;
  }

  // When an instruction that is no product may be issued, if not at `at`. Asked in order of time.
  std::optional<double> slot_after(double at) {
    const Product* const product = running(at);
    if (product == nullptr || begins_now(*product, at)) return std::nullopt;
    const double slots = std::ceil((at - product->begin) / kSlotClocks - kEpsilon);
    const double slot = product->begin + std::max(slots * kSlotClocks, kFirstSlot);
    if (slot <= at + kEpsilon) return std::nullopt;
    return std::min(slot, product->end);
  }

  // What is issued at `at` delays the product that would begin then, and those behind it.
  struct Delay {
    double after = 0;  // groups of products that are done later than that
    double by = 0;
  };
  Delay delay(double at) {
    const Product* const product = running(at);
    if (product == nullptr || !begins_now(*product, at)) return {};
    const Delay delay{product->begin + product->latency, at + 1 - product->begin};
    for (Product& waiting : products_) {
      waiting.begin += delay.by;
      waiting.end += delay.by;
    }
    end_ += delay.by;
    return delay;
  }

  double end() const { return end_; }  // of the last one

 private:
  struct Product {
    double begin = 0;
    double end = 0;
    double latency = 0;
  };
  static constexpr double kEpsilon = 1e-6;  // clocks: what sums of them may be off by

  static bool begins_now(const Product& product, double at) { return at - product.begin < 1; }

  void forget_done(double at) {
    while (!products_.empty() && products_.front().end <= at) products_.pop_front();
  }
  const Product* running(double at) {
    forget_done(at);
    return products_.empty() || products_.front().begin > at ? nullptr : &products_.front();
  }

  std::deque<Product> products_;  // in order: one that runs, and those that wait
  double end_ = 0;
  const SimulatedWarp* last_ = nullptr;
};

}  // namespace fa_tune::emulator
