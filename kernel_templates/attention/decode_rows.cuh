// The rows of decode.cu: the KV_GROUP heads of Q that share a head of K and V count as one, which has
// as many rows for each query. Row r is query r / KV_GROUP of the head r % KV_GROUP among them.
#pragma once

#include "copy.cuh"
#include "decode_state.cuh"
#include "element.cuh"
#include "heads.cuh"

struct Rows {
  int batch;
  int kv_head;
  int kv_heads;
  int lq;

  __device__ __forceinline__ int count() const { return lq * KV_GROUP; }
  __device__ __forceinline__ int head(int row) const { return kv_head * KV_GROUP + row % KV_GROUP; }

  // Rows of Q, O and LSE before this one where they lie as [B, H, Lq].
  __device__ __forceinline__ long long by_heads(int row) const {
    return (static_cast<long long>(batch) * kv_heads * KV_GROUP + head(row)) * lq + row / KV_GROUP;
  }
  // Elements of Q and O before the row.
  __device__ __forceinline__ long long start(int row) const {
    if (!LAYOUT_BSHD) return by_heads(row) * HEAD_DIM;
    const int heads = kv_heads * KV_GROUP;
    return interleaved_start(batch, head(row), heads, lq) +
           static_cast<long long>(row / KV_GROUP) * row_stride(heads);
  }
  // Rows before this one in the workspaces, each split a row of its own.
  __device__ __forceinline__ long long part(int row, int split) const {
    const long long among_all =
        (static_cast<long long>(batch) * kv_heads + kv_head) * count() + row;
    return among_all * SPLITS + split;
  }

  // Begins to copy the block's rows from `first` on; those past the end become zero. The caller
  // commits.
  __device__ __forceinline__ void load(unsigned to, const Element* q, int first) const {
    constexpr int kTotal = BLOCK_M * Shared::kChunks;
#pragma unroll
    for (int i = 0; i < kTotal; i += kThreads) {
      const int index = i + static_cast<int>(threadIdx.x);
      if (kTotal % kThreads != 0 && index >= kTotal) break;
      const int row = index / Shared::kChunks, chunk = index % Shared::kChunks;
      const bool inside = first + row < count();
      const Element* const from = q + start(inside ? first + row : 0) + chunk * 8;
      copy_16_async(to + Shared::offset(row, chunk), from, inside);
    }
  }
};
