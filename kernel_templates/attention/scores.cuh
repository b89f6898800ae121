// From products q k to what softmax takes, and from softmax back to the row's LSE.
//
//   score = scale * q k                          plain
//   score = softcap * tanh(score / softcap)      SOFTCAP
//   score -= slope * |row + lk - lq - key|       ALIBI (FlashAttention's: from bottom right)
//
// Softmax works with powers of two. Plain products stay as they are, and `factor` turns them into
// exponents in the same multiply-add that subtracts the maximum; a cap or a bias makes them
// exponents at once, with factor 1.
#pragma once

#include "math.cuh"

struct Scores {
  static constexpr bool kHasMod = SOFTCAP || ALIBI;

  float factor;
  float inner;  // tanh(x) = 1 - 2 / (1 + 2^(inner * product))
  float outer;  // the cap as an exponent of two
  float scale_log2;
  float slope;  // of this head, as an exponent of two
  int shift;    // lk - lq

  __device__ __forceinline__ Scores(float scale, float softcap, float slope_of_head, int lq, int lk)
      : factor(kHasMod ? 1.0f : scale * kLog2E),
        inner(SOFTCAP ? 2.0f * kLog2E * scale / softcap : 0.0f),
        outer(softcap * kLog2E),
        scale_log2(scale * kLog2E),
        slope(slope_of_head * kLog2E),
        shift(lk - lq) {}

  // The same for a row of a head with another slope.
  __device__ __forceinline__ Scores with_slope(float slope_of_head) const {
    Scores other = *this;
    other.slope = slope_of_head * kLog2E;
    return other;
  }

  // tanh.approx is right to 2^-11 alone (PTX ISA): with a cap of 30 that is 1% of a probability,
  // and rounding to fp16 makes 0.05% at most. These two approximations are right to some 2^-22.
  __device__ __forceinline__ float modified(float product, int row, int key) const {
    float score =
        SOFTCAP ? outer - 2.0f * outer * reciprocal_approx(1.0f + exp2_approx(product * inner))
                : product * scale_log2;
    if (ALIBI) score -= slope * fabsf(static_cast<float>(row + shift - key));
    return score;
  }
};

// The logarithm of the row's sum of exponentials. `maximum` is what they are relative to, as an
// exponent of two.
__device__ __forceinline__ float row_lse(float maximum, float sum) {
  return sum > 0.0f ? (maximum + log2_approx(sum)) * kLn2 : minus_infinity();
}
