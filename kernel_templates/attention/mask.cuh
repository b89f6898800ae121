// Which keys a query sees. Query i of lq stands at key i, or bottom right at i + lk - lq, and sees
//   not causal, no window    all keys
//   causal                   none after the one it stands at
//   window                   at most so many before and after the one it stands at
// What it stands at may lie outside of the keys, and a query may see none.
#pragma once

#include "math.cuh"

struct Mask {
  static constexpr bool kLimitsLast = CAUSAL || WINDOW_RIGHT;

  int lk;
  int shift;       // from a query to what it stands at
  int last_shift;  // from a query to the last key that it is allowed, wherever the keys end
  int left;        // where WINDOW_LEFT

  __device__ __forceinline__ Mask(int lq, int keys, int window_left, int window_right)
      : lk(keys),
        shift(CAUSAL_BOTTOM_RIGHT ? keys - lq : 0),
        last_shift(WINDOW_RIGHT ? shift + window_right : shift),
        left(window_left) {}

  // Keys first_key(row) .. end_key(row) - 1 are seen. Both grow with the row: a block of rows needs
  // those from its first row's first one to its last row's end.
  __device__ __forceinline__ int first_key(int row) const {
    if (!WINDOW_LEFT) return 0;
    const int first = row + shift - left;
    return first < 0 ? 0 : (first < lk ? first : lk);
  }
  __device__ __forceinline__ int end_key(int row) const {
    if (!kLimitsLast) return lk;
    const int end = row + 1 + last_shift;
    return end < 0 ? 0 : (end < lk ? end : lk);
  }

  __device__ __forceinline__ void apply(float& score, int row, int key) const {
    if (key >= lk || (kLimitsLast && key > row + last_shift) ||
        (WINDOW_LEFT && key < row + shift - left))
      score = minus_infinity();
  }
};
