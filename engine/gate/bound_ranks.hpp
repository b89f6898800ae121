#pragma once

#include <cstdint>
#include <vector>

#include "engine/problem/problem.hpp"

namespace fa_tune {

// ValueBounds of numbers of 16 bits as integers that are larger where the numbers are, each rounded
// outwards by as much as a step; what has finite limits and is NaN or infinite is outside them. A
// range of zeros alone, of rows that see nothing, stays as narrow as that.
struct BoundRanks {
  std::vector<std::int16_t> least, most;  // as in ValueBounds

  BoundRanks(const ValueBounds& limits, DType type);

  // NaN are beyond infinity on either side; -0 is below +0.
  static std::int16_t rank_of(std::uint16_t bits) {
    const auto whole = static_cast<std::int16_t>(bits);
    return static_cast<std::int16_t>(whole ^ ((whole >> 15) & 0x7fff));
  }
};

}  // namespace fa_tune
