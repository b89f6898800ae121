// Where heads and their rows lie: [B, H, L, D], or with LAYOUT_BSHD [B, L, H, D].
#pragma once

#include "element.cuh"

// Elements from one row of a head to its next, 0 if that is known at run time only.
constexpr int kRowStride = LAYOUT_BSHD ? 0 : HEAD_DIM;
__device__ __forceinline__ int row_stride(unsigned heads) {
  return kRowStride > 0 ? kRowStride : static_cast<int>(heads * HEAD_DIM);
}

// Elements before the first row of a head, with LAYOUT_BSHD.
__device__ __forceinline__ long long interleaved_start(unsigned batch, unsigned head,
                                                       unsigned heads, int length) {
  return (static_cast<long long>(batch) * length * heads + head) * HEAD_DIM;
}

// Moves the tensors' pointers to the first rows of head `head` of `heads` in batch `batch`, and of
// the head of K and V that it shares. Written out for both layouts: ptxas schedules a whole kernel
// anew when an address is multiplied in another order.
__device__ __forceinline__ void enter_head(const Element* __restrict__& q,
                                           const Element* __restrict__& k,
                                           const Element* __restrict__& v, Element* __restrict__& o,
                                           unsigned batch, unsigned head, unsigned heads, int lq,
                                           int lk) {
  const unsigned kv_heads = heads / KV_GROUP;
  if (LAYOUT_BSHD) {
    q += interleaved_start(batch, head, heads, lq);
    k += interleaved_start(batch, head / KV_GROUP, kv_heads, lk);
    v += interleaved_start(batch, head / KV_GROUP, kv_heads, lk);
    o += interleaved_start(batch, head, heads, lq);
  } else {
    const long long among_all = static_cast<long long>(batch) * heads + head;
    q += among_all * lq * HEAD_DIM;
    k += among_all / KV_GROUP * lk * HEAD_DIM;
    v += among_all / KV_GROUP * lk * HEAD_DIM;
    o += among_all * lq * HEAD_DIM;
  }
}
