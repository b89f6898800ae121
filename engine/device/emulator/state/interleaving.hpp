#pragma once

#include <cstdint>

namespace fa_tune::emulator {

// Which of the legal orders of events a launch takes. Number 0 is the plain one: warp after warp,
// each as far as it comes, and asynchronous operations as late as may be, so that a missing wait
// shows. Every other number draws the order of the warps, the length of their turns, and for each
// asynchronous operation whether it happens at once or at the last legal moment; 1 has all of them
// early and 2 all late. From 3 on the order in which blocks begin is drawn too; from 16 on blocks take
// turns as warps do, so that they come upon each other within a few instructions. The draws depend
// on the number and the cluster alone.
class Interleaving {
 public:
  Interleaving() = default;
  Interleaving(std::uint64_t number, std::uint64_t cluster);

  bool plain() const { return number_ == 0; }
  bool mixes_blocks() const { return number_ >= 3; }
  bool has_block_turns() const { return number_ >= 16; }
  // 0 to n - 1; n is at least 1.
  std::uint32_t below(std::uint32_t n);
  // Whether the asynchronous operation at hand happens when it is issued.
  bool early();
  // Instructions that a warp may execute before another has its turn.
  std::uint64_t turn();
  // The effort of a cluster before another has its turn, where blocks take turns.
  std::uint64_t block_turn();

 private:
  std::uint64_t draw();

  std::uint64_t number_ = 0;
  std::uint64_t state_ = 0;
};

}  // namespace fa_tune::emulator
