#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace fa_tune::emulator {

// Tells a warp that waits for another block from one that works: strong reads of global memory that
// find, again and again, what they found before, and little between them. Nothing rests on its
// being right: a warp that is wrongly taken for one that waits has its next turn a little later.
class Polls {
 public:
  void start() { *this = {}; }

  // The instruction number `pc` has read global memory; `found`: of where it looked and what it
  // saw.
  void note(std::uint32_t pc, std::uint64_t found) {
    pc_ = pc;
    Seen& seen = seen_[pc % seen_.size()];
    if (seen.any && seen.pc == pc && seen.found == found) {
      vain_ += 1;
      turns_ += 1;
      return;
    }
    seen = {pc, found, true};
    vain_ = 0;
    unpolled_ = 0;
  }

  // The instruction that noted last.
  std::uint32_t pc() const { return pc_; }
  // Nothing new for long: others should have their turn.
  bool in_vain() const { return vain_ >= kMany; }
  bool turn_is_over() const { return in_vain() && turns_ > 0; }

  void begin_turn() { turns_ = 0; }
  // `executed`: instructions since begin_turn(). Returns whether the warp did nothing but wait.
  bool end_turn(std::uint64_t executed) {
    if (!in_vain()) return false;
    unpolled_ = turns_ > 0 ? 0 : unpolled_ + executed;
    const bool works = turns_ > 0 ? executed > turns_ * kBetween : unpolled_ > kBetween;
    if (works) vain_ = 0;
    return !works;
  }

 private:
  static constexpr std::uint32_t kMany = 32;
  // Warp instructions from one look to the next: who executes more does something meanwhile.
  static constexpr std::uint64_t kBetween = 1024;

  struct Seen {
    std::uint32_t pc = 0;
    std::uint64_t found = 0;
    bool any = false;
  };
  std::array<Seen, 4> seen_;  // by pc
  std::uint32_t pc_ = 0;
  std::uint32_t vain_ = 0;   // looks in a row that found nothing new
  std::uint32_t turns_ = 0;  // of them, in the turn at hand
  std::uint64_t unpolled_ = 0;
};

}  // namespace fa_tune::emulator
