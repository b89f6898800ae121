#pragma once

#include <cstddef>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "engine/device/emulator/timing/product_queue.hpp"
#include "engine/device/emulator/timing/simulated_warp.hpp"

namespace fa_tune::emulator {

// How far the warpgroups of a simulated SM are with their products (wgmma), and the waits that they
// mean for its warps. Clocks.
//
// Its four warps come together at the first product of a group (WARPGROUP.ARRIVE). A product waits for
// the last of them to issue it. Only the first warp stands where the queue is full: on an H200 the
// others have all issued meanwhile, and all four are done at the same time
// (tools/bench/results/clock/microbench_h200_turns.json).
class WarpgroupProducts {
 public:
  static constexpr std::size_t kWarps = 4;
  // From when the last warp comes to a group's first product until they go on: by Nsight Compute's
  // samples 10 to 20, with what the warps are apart (a log). It is drawn, as a GPU does not do everything
  // in the same clock each time: where it did, two warpgroups would stay in whatever step they fell into.
  // kMeetSpread is between the shortest and the longest, and none is below 0.
  static constexpr double kMeetClocks = 5;
  static constexpr double kMeetSpread = 20;

  // Of all warps of an SM, which outlive this.
  explicit WarpgroupProducts(std::span<SimulatedWarp> warps = {})
      : warps_(warps), progress_(warps.size()), groups_(warps.size()) {}

  // The warp begins a new trace, as one of the warpgroup that begins with the warp `first`.
  void begin(const SimulatedWarp& warp, const SimulatedWarp& first);
  // Brings the warp, which is at a product, to when it may issue it. False: it may now.
  bool holds(SimulatedWarp& warp);
  // The warp issues a product.
  void issue(const SimulatedWarp& warp, const Cost& product, double at);
  void commit(const SimulatedWarp& warp);
  // Holds the warp until all groups but the last `depth` are done; below zero: and what is not
  // committed. What is issued meanwhile may delay them: asked again then. False: they are.
  bool waits(SimulatedWarp& warp, int depth, double at);
  // Another instruction of the warp is issued at `at`, and may delay a product. Each partition begins its
  // part of a product by itself: the first stands for all.
  void delay(const SimulatedWarp& warp, const Cost& cost, double at);
  // Whether the product that runs then is one of the warp's own warpgroup.
  bool own_runs(const SimulatedWarp& warp, double at) const {
    const auto runs = queue_.warpgroup_at(at);
    return runs && *runs == progress_[number(warp)].first;
  }
  const ProductQueue& queue() const { return queue_; }
  // When an instruction that is no product may be issued, if not at `at`.
  std::optional<double> slot_after(const Cost& cost, double at) {
    return ProductQueue::in_slots(cost) ? queue_.slot_after(at) : std::nullopt;
  }
  // Clocks that an instruction of the warp that is issued at `at` holds its unit.
  double holds_unit(const SimulatedWarp& warp, const Cost& cost, double at) const;

 private:
  struct Progress {
    std::size_t first = 0;            // warp of its warpgroup
    std::size_t issued = 0;           // products
    std::vector<std::size_t> groups;  // products issued when each was committed
    double next_from = 0;             // when it may issue the next one
    double stands_from = 0;
    bool met = false;   // the others, at the first product of a group
    bool asks = false;  // waits for others to issue what it waits for
  };
  struct Warpgroup {
    std::size_t warps = 0;
    std::size_t standing = 0;     // of them, at the first product of a group
    std::vector<std::size_t> by;  // how many warps have issued each product
    std::vector<double> ends;     // of those that all have issued
    double end_clocks = 0;        // beyond the end of a group's last one
  };

  std::size_t number(const SimulatedWarp& warp) const {
    return static_cast<std::size_t>(&warp - warps_.data());
  }
  // The warp stops until the others are at the first product of the group too.
  void meet(SimulatedWarp& warp);
  double meet_clocks();
  void go_on(std::size_t warp, double from);
  // When all of it is done; none: it is not all issued.
  std::optional<double> done(const Progress& own, int depth) const;

  std::span<SimulatedWarp> warps_;
  std::vector<Progress> progress_;  // by warp
  std::vector<Warpgroup> groups_;   // by first warp
  ProductQueue queue_;
  std::minstd_rand draws_;
};

}  // namespace fa_tune::emulator
