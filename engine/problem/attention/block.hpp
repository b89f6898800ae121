#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/problem/attention/products.hpp"

// The oracle's unit of work, and what it makes on the way.

namespace fa_tune::problem::oracle {

constexpr std::size_t kKeyTile = 32;
constexpr std::size_t kQueryBlock = 64;
static_assert(kQueryBlock % kProductRows == 0 && kKeyTile % kProductWidth == 0);

constexpr std::size_t round_up(std::size_t value, std::size_t step) {
  return (value + step - 1) / step * step;
}

// What a row's exponentials are relative to, and their sum.
template <typename Real>
struct RowSum {
  Real largest = -std::numeric_limits<Real>::infinity();
  Real sum = 0;

  Real lse() const { return sum > 0 ? largest + std::log(sum) : largest; }
};

struct Keys {
  std::size_t first, end;
};

// Some rows of one head and the tiles of keys that at least one of them sees.
struct Block {
  std::size_t head = 0;
  std::span<const std::uint32_t> positions;  // rising, so what they see rises too
  std::size_t to = 0;                        // the first row's place in the truth
  std::size_t origin = 0;                    // the first tile's first key
  std::size_t tiles = 0;

  std::size_t stride() const { return tiles * kKeyTile; }  // of a row of scores
  std::size_t padded() const { return round_up(positions.size(), kProductRows); }
};

// What a block makes in one precision. Rows beyond its own are zero.
template <typename Real>
struct Pass {
  std::vector<Real> queries;  // [padded][D]
  std::vector<Real> tile;     // K: [D][key_tile], V: [key_tile][width]
  std::vector<Real> p;        // [padded][stride]: products, scores, exponentials; 0 if not seen
  std::vector<Real> output;   // [padded][width]
};

// A tile of K or V as its bits say, zero beyond the last key, and what its rows are multiplied by.
struct RawTile {
  std::vector<float> rows;  // [key_tile][D]
  std::vector<float> scales = std::vector<float>(kKeyTile);
};

}  // namespace fa_tune::problem::oracle
