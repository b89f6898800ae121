#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <optional>

#include "engine/device/emulator/timing/pseudo_sass.hpp"

namespace fa_tune::emulator {

// The products of warpgroups (wgmma) that an SM's tensor cores have under way, in clocks. All four run
// the same one, one after another in the order they were issued in, and some wait in a queue: where it
// is full, a warpgroup stands at its next product until there is room, and warpgroups take turns.
//
// While a product runs, a partition's floating-point instructions are issued in one of kSlotClocks, from
// the first slot on, and do not delay it; its integers and conversions are issued as ever. A product
// begins in a clock in which none of all these is ready, or when it has waited for kDelayAtMost: so those
// that follow each other clock by clock keep the next product from beginning, but not for long. What has
// no operands in registers (UMOV, UIADD3, branches) takes no part in that: Nsight Compute's samples of 28
// kernels have it issued in the next clock (a log).
//
// What a warpgroup issues while a product of its own runs delays that one and those behind it: 8
// products of 64 clocks, which take 575, take 50 more with 64 FMAs behind them, 74 with 64 maxima of
// three integers and 253 with 64 exponentials (microbench_h200_products.json,
// "clocks_of_8_beside_own").
//
// The rest was measured on an H200 (tools/bench/results/clock). microbench_h200_products.json:
// of 16, 24 or 32 products that are asked for at a time all are issued when about six are left
// ("clocks_until_8_are_issued"). microbench_h200_turns.json, "product_turns": a group of
// eight that is asked for 100 clocks after another one begins when that has ended, 40 clocks after it
// half of it comes in turn with it; the eighth product of 32 clocks is issued 78 clocks after the first,
// which is when the second begins. microbench_h200_slots.json, "issue_slots": a maximum
// or minimum of floats is issued every 4.2 to 4.7 clocks, and the products take a tenth longer at most;
// of integers (setp, selp, shf, maxima of three) and conversions to halves one every 2.1 clocks, as
// without products; beside four chains of FMAs, of which one is ready in each clock, products take 1.4
// to 5 times as long. A single chain of FMAs finds each slot. An exponential, which takes 8 clocks
// without products, takes 10.6 to 11 beside another warpgroup's.
//
// Products read shared memory before others do: B in every other clock, and A, where it is there too,
// in those between, as long as that takes. So beside products of n64 nothing else is read but what has
// waited for kPatienceClocks, and beside those of n128 in half of their time. A shuffle takes 24 clocks
// alone, and 27, 44 and 70 beside n128 with A in registers, n128 and n64 ("beside_products"; loads
// take as long), and 25, 43 and 88 to 118 where products never pause (a log).
class ProductQueue {
 public:
  static constexpr std::size_t kPlaces = 6;
  static constexpr double kSlotClocks = 4;  // in the clocks of arithmetic
  // The first slot: so late in a product that takes 64 clocks or more, earlier in a shorter one.
  static constexpr double kFirstSlot = 8;
  static constexpr double kFirstSlotShare = 1.0 / 8;
  static constexpr double kDelayAtMost = 10;  // of one product, by other warpgroups
  // Of a product, by an instruction of its own warpgroup, and by each clock that this holds its unit.
  static constexpr double kOwnDelay = 0.4;
  static constexpr double kOwnDelayShare = 0.4;
  // An exponential's time beside another warpgroup's product, of its time alone.
  static constexpr double kSpecialShare = 4.0 / 3;
  // From when one is issued until it begins, if no other is under way.
  static constexpr double kStartClocks = 38;
  // From when a group's last product is done until its warps know: with kStartClocks and a product's
  // latency a group of n takes 56 to 72 clocks more than n products do, from the first one's issue until
  // what follows the wait for it, in 11 kernels of one warpgroup on an H200 (a log).
  static constexpr double kNoticeClocks = 10;
  // Clocks from a product's issue to the next one of the same warp, where there is room ("product_turns";
  // of those with A in registers Nsight Compute's samples, 12.6 with what stands between them).
  static constexpr double kIssueClocks = 5;
  static constexpr double kIssueShare = 0.2;  // of the product's time, if that is longer
  static constexpr double kRegisterIssueClocks = 10;
  static constexpr double kReadsAClocks = 32;  // 64 x 16 halves, in every other clock
  static constexpr double kPatienceClocks = 75;

  // It takes a slot that products need too: it has operands in registers.
  static bool competes(const Cost& cost) {
    const bool is_uniform = cost.unit == Unit::control && cost.role == Role::plain;
    return cost.role != Role::tensor_async && cost.issues > 0 && !is_uniform;
  }
  // While products run it is issued in the slots that they leave.
  static bool in_slots(const Cost& cost) {
    const bool is_float = cost.unit == Unit::fma || cost.unit == Unit::half ||
                          cost.unit == Unit::special || cost.of_floats;
    return is_float && competes(cost);
  }

  static double issue_clocks(const Cost& product) {
    if (product.a_in_registers) return kRegisterIssueClocks;
    return std::max(kIssueClocks, kIssueShare * product.holds_unit());
  }

  // From the end of a group's last product until its warps go on.
  static double end_clocks(const Cost& product) {
    return std::max(product.latency - kStartClocks, 0.0) + kNoticeClocks;
  }

  // When the warpgroup's next product may be issued, if not at `at`.
  std::optional<double> full_until(std::size_t warpgroup, double at) const {
    if (products_.size() < kPlaces) return std::nullopt;
    // The others' turn is first.
    const double turn = last_ == warpgroup ? 0.5 : 0;
    const double room = products_[products_.size() - kPlaces].begin + turn;
    return room > at ? std::optional(room) : std::nullopt;
  }

  // Issued at `at`. Returns when it is done.
  double add(std::size_t warpgroup, const Cost& product, double at) {
    forget_done(at);
    const double begin = std::max(end_, at + kStartClocks);
    end_ = begin + product.holds_unit();
    const double reads_a =
        product.a_in_registers ? 0 : std::min(kReadsAClocks, product.holds_unit());
    products_.push_back({begin, end_, reads_a, warpgroup});
    last_ = warpgroup;
    return end_;
  }

  // When an instruction that is no product may be issued, if not at `at`. Asked in order of time.
  std::optional<double> slot_after(double at) {
    const Product* const product = running(at);
    if (product == nullptr || begins_now(*product, at)) return std::nullopt;
    const double slots = std::ceil((at - product->begin) / kSlotClocks - kEpsilon);
    const double first = std::min(kFirstSlot, kFirstSlotShare * (product->end - product->begin));
    const double slot = product->begin + std::max(slots * kSlotClocks, first);
    if (slot <= at + kEpsilon) return std::nullopt;
    return std::min(slot, product->end);
  }

  // What is issued at `at` delays the product that would begin then, and those behind it.
  struct Delay {
    double after = 0;  // products that end later than that
    double by = 0;
  };
  Delay delay(double at) {
    const Product* const product = running(at);
    if (product == nullptr || !begins_now(*product, at)) return {};
    const Delay delay{product->begin, at + 1 - product->begin};
    products_.front().delayed += delay.by;
    put_off(delay.by, delay.by);
    return delay;
  }
  // The same of what its own warpgroup issues while a product runs.
  Delay delay_own(const Cost& cost, double at) {
    const Product* const product = running(at);
    if (product == nullptr) return {};
    const Delay delay{product->begin, kOwnDelay + kOwnDelayShare * cost.busy};
    put_off(0, delay.by);
    return delay;
  }
  // Whose product runs, or will by what is known now.
  std::optional<std::size_t> warpgroup_at(double at) const {
    const auto next =
        std::ranges::find_if(products_, [&](const Product& each) { return each.end > at; });
    if (next == products_.end() || next->begin > at) return std::nullopt;
    return next->warpgroup;
  }

  // When another access to shared memory that is the next at `at` may begin.
  double lets_access_from(double at) const {
    double from = at;
    for (const Product& product : products_) {
      if (from < product.begin) break;
      from = std::max(from, product.begin + product.reads_a);
    }
    return std::min(from, at + kPatienceClocks);
  }
  bool runs_at(double at) const {
    return std::ranges::any_of(
        products_, [&](const Product& each) { return each.begin <= at && at < each.end; });
  }

  double end() const { return end_; }  // of the last one

 private:
  struct Product {
    double begin = 0;
    double end = 0;
    double reads_a = 0;  // clocks from its beginning
    std::size_t warpgroup = 0;
    double delayed = 0;  // its beginning
  };
  static constexpr double kEpsilon = 1e-6;  // clocks: what sums of them may be off by

  static bool begins_now(const Product& product, double at) {
    return at - product.begin < 1 && product.delayed < kDelayAtMost;
  }
  // The first one begins later by `first`, those behind it by `by`, by which all end later.
  void put_off(double first, double by) {
    for (Product& product : products_) {
      product.begin += &product == &products_.front() ? first : by;
      product.end += by;
    }
    end_ += by;
  }

  void forget_done(double at) {
    while (!products_.empty() && products_.front().end <= at) products_.pop_front();
  }
  const Product* running(double at) {
    forget_done(at);
    return products_.empty() || products_.front().begin > at ? nullptr : &products_.front();
  }

  std::deque<Product> products_;  // in order: one that runs, and those that wait
  double end_ = 0;
  std::optional<std::size_t> last_;  // warpgroup that issued one
};

}  // namespace fa_tune::emulator
