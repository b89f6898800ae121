// A warp's 16 rows of the output from its sums to shared memory, in the layout of the map: rows of
// 128 bytes, whose chunks of 16 bytes the swizzle exchanges.
#pragma once

#include "element.cuh"
#include "store_matrix.cuh"
#include "wgmma_shared.cuh"
#include "wgmma_softmax.cuh"

// `staging`: the warpgroup's first row; `factor`: by which its two rows are multiplied.
__device__ __forceinline__ void stage_rows(const float (&output)[kOutputs],
                                           const float (&factor)[2], unsigned staging, int warp,
                                           int lane) {
#if DTYPE_E4M3
  // wgmma_transpose.cuh gave a thread's sums of 16 columns in this order: 0, 2, then 1, 3 of its
  // own four.
#pragma unroll
  for (int i = 0; i < HEAD_DIM / 16; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const unsigned row = staging + (warp * 16 + lane / 4 + 8 * h) * 128;
      const int chunk = i % 4 * 2 + lane % 4 / 2;
      const float* const f = output + 8 * i + 2 * h;
      store_8_bytes(row + i / 4 * kQPanel + ((chunk ^ lane / 4) << 4) + lane % 2 * 8,
                    pack(f[0] * factor[h], f[4] * factor[h]),
                    pack(f[1] * factor[h], f[5] * factor[h]));
    }
#else
  const unsigned row = staging + (warp * 16 + lane % 16) * 128;
#pragma unroll
  for (int i = 0; i < HEAD_DIM / 16; ++i) {  // 16 columns, two fragments
    const int chunk = i % 4 * 2 + lane / 16;
    const float* const f = output + 8 * i;
    store_matrices(row + i / 4 * kQPanel + ((chunk ^ lane % 8) << 4),
                   pack(f[0] * factor[0], f[1] * factor[0]),
                   pack(f[2] * factor[1], f[3] * factor[1]),
                   pack(f[4] * factor[0], f[5] * factor[0]),
                   pack(f[6] * factor[1], f[7] * factor[1]));
  }
#endif
  // The box that leaves has whole panels. What lies beyond the tensor is not written, but it is
  // read.
  if constexpr (kOPlace == OPlace::own) {
#pragma unroll
    for (int i = HEAD_DIM / 16; i < kOPanels * 4; ++i)
      store_matrices(staging + (warp * 16 + lane % 16) * 128 + i / 4 * kQPanel +
                         ((i % 4 * 2 + lane / 16) ^ lane % 8) * 16,
                     0, 0, 0, 0);
  }
}
