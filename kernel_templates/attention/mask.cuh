// Which keys a query sees. Row i of Lq, key j of Lk:
//   not causal          j < Lk
//   causal, top left    j <= i              (PyTorch's is_causal)
//   causal, bottom right j <= i + Lk - Lq   (FlashAttention's alignment)
#pragma once

__device__ __forceinline__ int causal_offset(int lq, int lk) {
  return CAUSAL_BOTTOM_RIGHT ? lk - lq : 0;
}

// Keys that any of the rows up to and including `last_row` sees: 0..result-1.
__device__ __forceinline__ int visible_keys(int last_row, int lq, int lk) {
  if (!CAUSAL) return lk;
  const int end = last_row + 1 + causal_offset(lq, lk);
  return end < 0 ? 0 : (end < lk ? end : lk);
}
