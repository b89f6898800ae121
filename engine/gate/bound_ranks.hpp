#pragma once

#include <cstdint>
#include <vector>

#include "engine/problem/problem.hpp"

namespace fa_tune::gate {

// ValueBounds of 16-bit numbers, as integers in the same order as the numbers. Each bound is
// rounded outwards by up to one step. A NaN or an infinity is outside finite limits. A range of
// zeros alone, of rows that see nothing, stays that narrow.
struct BoundRanks {
  std::vector<std::int16_t> least, most;  // as in ValueBounds

  BoundRanks(const problem::ValueBounds& limits, DType type);

  // A NaN ranks beyond infinity on either side, -0 below +0.
  static std::int16_t rank_of(std::uint16_t bits) {
    const auto whole = static_cast<std::int16_t>(bits);
    return static_cast<std::int16_t>(whole ^ ((whole >> 15) & 0x7fff));
  }
};

}  // namespace fa_tune::gate
