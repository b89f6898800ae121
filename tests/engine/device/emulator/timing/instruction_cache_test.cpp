#include "engine/device/emulator/timing/instruction_cache.hpp"

#include <doctest/doctest.h>

// What an SM holds of a kernel's machine code.

namespace fa_tune::test {

using emulator::InstructionCache;

namespace {

// How long straight code of `lines` lines waits for its instructions, in clocks.
double waits_of(std::uint32_t lines, bool whole) {
  InstructionCache cache(std::vector<bool>(lines, true), whole);
  double waited = 0;
  double at = 0;
  for (std::uint32_t line = 0; line < lines; ++line) {
    const double there = cache.fetch(line, line == 0 ? 0 : line - 1, at);
    waited += there - at;
    at = there + InstructionCache::kIssueClocks;
  }
  return waited;
}

constexpr std::uint32_t kAllLines = InstructionCache::kSets * InstructionCache::kWays;

}  // namespace

TEST_CASE("instruction cache: what it has room for the launch before has left") {
  CHECK(waits_of(kAllLines, true) == 0);
}

TEST_CASE("instruction cache: of more, only lines of sets that have too many are fetched") {
  // 16 sets have five lines each: 80 of 272 are fetched. Straight code waits for what a line takes
  // beyond the issue of the one before it.
  const double each = InstructionCache::kLineClocks - InstructionCache::kIssueClocks;
  const double some = waits_of(kAllLines + 16, true);
  CHECK(some >= 80 * each);
  CHECK(some < 80 * each + 5 * InstructionCache::kJumpClocks);
  const double all = waits_of(kAllLines + InstructionCache::kSets, true);
  CHECK(all >= (kAllLines + InstructionCache::kSets - 1) * each);
  // Of a part of a launch the first time of each line is not looked at.
  CHECK(waits_of(kAllLines + InstructionCache::kSets, false) == 0);
}

TEST_CASE("instruction cache: a set keeps what was used last") {
  // Five lines of one set, and one of another.
  std::vector<bool> runs(5 * InstructionCache::kSets);
  const auto line = [](std::uint32_t i) {
    return i * static_cast<std::uint32_t>(InstructionCache::kSets);
  };
  for (std::uint32_t i = 0; i < 5; ++i) runs[line(i)] = true;
  InstructionCache cache(runs, true);
  double at = 0;
  const auto waits = [&](std::uint32_t i) {
    const double waited = cache.fetch(line(i), 1, at) - at;
    at += 1000;
    return waited;
  };
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(waits(i) == InstructionCache::kJumpClocks);
  CHECK(waits(0) == 0);
  CHECK(waits(4) == InstructionCache::kJumpClocks);  // in the place of the second
  CHECK(waits(0) == 0);
  CHECK(waits(1) == InstructionCache::kJumpClocks);
}

TEST_CASE("instruction cache: lines come one after the other, and a warp waits for one under way") {
  InstructionCache cache(std::vector<bool>(kAllLines + InstructionCache::kSets, true), true);
  CHECK(cache.fetch(10, 1, 100) == 100 + InstructionCache::kJumpClocks);
  CHECK(cache.fetch(20, 1, 100) == 100 + 2 * InstructionCache::kJumpClocks);
  CHECK(cache.fetch(10, 1, 101) == 100 + InstructionCache::kJumpClocks);
  CHECK(cache.fetch(10, 1, 500) == 500);
}

}  // namespace fa_tune::test
