#pragma once

#include <cstdint>
#include <span>

#include "engine/problem/attention_shape.hpp"

namespace fa_tune {

// Attention as kernels compute it, tile of keys after tile, on the CPU: to show that every right
// way of doing it passes and that every wrong one does not.
struct HostAttention {
  // Right ways.
  enum class P {
    running_max,  // exp(s - the largest score so far), rounded to the dtype
    stale_max,    // the same, the maximum being raised only when a score is 2^8 times over it
    normalized,   // the row's softmax rounded to the dtype, then times V
    exact,        // not rounded at all
  };
  P p = P::running_max;
  int tile = 64;           // keys
  bool backwards = false;  // from the last tile to the first
  bool exp2 = true;        // 2^(s * (scale * log2 e) - m) in place of e^(...)
  bool sum_of_rounded_p = false;

  // Ways of accumulating: in float32, or in 16 bits after every product or every 16 of them (as a
  // tensor core does). Only the first is right.
  enum class Sum { f32, f16, f16_by_16 };
  Sum scores = Sum::f32;
  Sum output = Sum::f32;

  // Faults.
  float scale_factor = 1;
  bool rescale = true;
  bool rescale_sum = true;
  int mask_shift = 0;  // keys too many (or too few) a row sees, at the diagonal or the end of K
  bool drop_last_tile = false;
  bool drop_first_tile = false;
  bool zero_scores_past_end =
      false;  // keys up to the end of the tile count as 0 and are not masked
  bool ignore_causal = false;
  bool other_alignment = false;
  bool transposed_v = false;
  bool head_of_neighbour = false;  // K and V of the next head
  bool tile_twice = false;         // the first tile is added twice
  bool no_max = false;             // exp of the raw scores
  bool nan_where_nothing_is_seen = false;

  void run(const AttentionShape& shape, float scale, std::span<const std::uint16_t> Q,
           std::span<const std::uint16_t> K, std::span<const std::uint16_t> V,
           std::span<std::uint16_t> O) const;
};

}  // namespace fa_tune
