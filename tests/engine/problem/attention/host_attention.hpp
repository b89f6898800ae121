#pragma once

#include <cstdint>
#include <span>

#include "engine/problem/attention/shape.hpp"

namespace fa_tune::test {

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
  int window_shift = 0;  // keys too many (or too few) a row sees at its window's left end
  bool ignore_window = false;
  bool cap_before_scale = false;
  bool ignore_cap = false;
  bool alibi_towards_far = false;    // the bias has the other sign
  bool alibi_from_top_left = false;  // |q - key|, whatever the lengths
  bool slope_of_neighbour = false;
  bool kv_head_by_remainder = false;  // head h reads h % Hkv
  bool other_layout = false;          // Q, K, V and O taken for the other layout
  bool lse_in_log2 = false;
  bool lse_of_sum_alone = false;  // the largest score not added again
  bool lse_zero_where_nothing_is_seen = false;
  bool lse_by_position = false;  // written as [B,Lq,H]

  struct Tensors {
    std::span<const std::uint16_t> Q, K, V;
    std::span<std::uint16_t> O;
    const float* slopes = nullptr;  // [H], with ALiBi
    float* lse = nullptr;           // [B,H,Lq], where it is asked for
  };
  void run(const problem::AttentionShape& shape, float scale, const Tensors& tensors) const;
};

}  // namespace fa_tune::test
