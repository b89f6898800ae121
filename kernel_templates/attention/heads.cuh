// Where heads and their rows lie: [B, H, L, D], or with LAYOUT_BSHD [B, L, H, D].
#pragma once

// Elements from one row of a head to its next.
__device__ __forceinline__ int row_stride(unsigned heads) {
  return LAYOUT_BSHD ? static_cast<int>(heads * HEAD_DIM) : HEAD_DIM;
}

// Elements before the first row of a head, with LAYOUT_BSHD.
__device__ __forceinline__ long long interleaved_start(unsigned batch, unsigned head, unsigned heads,
                                                       int length) {
  return (static_cast<long long>(batch) * length * heads + head) * HEAD_DIM;
}
