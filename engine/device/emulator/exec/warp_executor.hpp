#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/device/emulator/exec/named_barriers.hpp"
#include "engine/device/emulator/state/cta.hpp"

namespace fa_tune::emulator {

// Executes the warps of a CTA.
class WarpExecutor {
 public:
  explicit WarpExecutor(Cta& cta);

  // The CTA has been started.
  void start();
  // Lets a warp that is ready execute up to `turn` instructions, or until it waits, exits,
  // yields or fails. False if it yielded or polled in vain for what another block is to write: it
  // found nothing to do but wait.
  bool run_warp(Warp& warp, std::uint64_t turn);

 private:
  template <bool Counting>
  void take_turn(Warp& warp, std::uint64_t turn);
  // Watching: registers of wgmma are looked after, see check_wgmma_registers, and undefined values
  // are followed.
  template <bool Counting, bool Watching>
  void run_path(Warp& warp, std::size_t chosen, std::uint64_t fuel);
  void wait(Warp& warp, std::size_t chosen, const Op& op);
  void control(Warp& warp, std::size_t chosen, const Op& op);
  // Whether it looks for a barrier of the grid that only cooperative launches have.
  bool misses_workspace() const;
  bool converged(Warp& warp, const DivergentPath& path, const Op& op);
  bool check_aligned(const Warp& warp, const DivergentPath& path, const Op& op);
  void branch_indexed(Warp& warp, std::size_t chosen, const Op& op);
  void return_lanes(Warp& warp, std::size_t chosen, const Op& op);
  void scatter(Warp& warp, std::size_t chosen, std::span<const std::uint32_t> targets);
  // False, and reported: the warpgroup has executed a wgmma that this warp has not.
  bool leaves_its_warpgroup(const Warp& warp, const Op& op);
  void exit_lanes(Warp& warp, std::size_t chosen);

  Cta& cta_;
  Cluster& cluster_;
  const LaunchContext& context_;
  Sanitizer* const sanitizer_;
  Record* record_ = nullptr;
  NamedBarriers barriers_;
  bool turn_over_ = false;  // the warp that has its turn yields
};

// Index of the path to run, or -1 where none is ready.
int choose_path(const Warp& warp);

}  // namespace fa_tune::emulator
