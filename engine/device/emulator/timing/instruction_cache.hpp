#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fa_tune::emulator {

// What an SM holds of a kernel's machine code: lines of 128 bytes, in sets of four of which the one
// that was used longest ago makes room. Launches of one kernel follow each other, so a launch finds
// what the one before it has left.
//
// Measured on an H200 (tools/bench/results/clock/microbench_h200_fixed.json, "code"), straight code
// that each launch runs once: up to 1,920 instructions there is nothing to wait for; of 2,176, 2,304,
// 2,432 and 2,560 each takes 0.4, 0.7, 0.9 and 1.0 clocks more. That is the share of lines in those of
// 64 sets that have more than four to hold. So the line behind a line comes 16 clocks later, while
// its instructions would be issued in 8. What lies behind a jump out of such code comes some 30 later.
class InstructionCache {
 public:
  static constexpr std::uint32_t kLineInstructions = 8;
  static constexpr std::size_t kSets = 64;
  static constexpr std::size_t kWays = 4;
  static constexpr double kLineClocks = 16;
  static constexpr double kIssueClocks = 8;
  static constexpr double kJumpClocks = 30;

  // `runs`: by line, whether the launch runs it. `whole`: all of the launch will be asked for, so
  // that what the launch before has not left costs; of a part it would count too often.
  InstructionCache(const std::vector<bool>& runs, bool whole) : seen_(runs.size()), whole_(whole) {
    for (std::size_t line = 0; line < runs.size(); ++line) wanted_[line % kSets] += runs[line];
  }

  // When a warp can issue instructions of `line`, which it comes to at `at` from those of `before`.
  double fetch(std::uint32_t line, std::uint32_t before, double at) {
    auto& set = sets_[line % kSets];
    Held* held = std::ranges::find(set, line, &Held::line);
    if (held == set.end()) {
      held = std::ranges::min_element(set, {}, &Held::used);
      *held = {line, 0, left_before(line) ? at : load(before + 1 == line, at)};
    }
    held->used = ++uses_;
    return std::max(held->from, at);
  }

 private:
  static constexpr std::uint32_t kNone = ~0U;
  struct Held {
    std::uint32_t line = kNone;
    std::uint64_t used = 0;
    double from = 0;
  };

  // Asked when the line is not held. True once a line, if the launch before has left it.
  bool left_before(std::uint32_t line) {
    if (line >= seen_.size() || seen_[line]) return false;
    seen_[line] = true;
    return !whole_ || wanted_[line % kSets] <= kWays;
  }

  double load(bool follows, double at) {
    return loaded_ = follows ? std::max(loaded_, at - kIssueClocks) + kLineClocks
                             : std::max(loaded_, at) + kJumpClocks;
  }

  std::array<std::array<Held, kWays>, kSets> sets_{};
  std::array<std::size_t, kSets> wanted_{};  // lines that the launch runs
  std::vector<bool> seen_;                   // by line
  bool whole_;
  std::uint64_t uses_ = 0;
  double loaded_ = 0;  // when the last line was
};

}  // namespace fa_tune::emulator
