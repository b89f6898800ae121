// A warpgroup's two products of attention: Q K^T to its scores, and P V to its output.
#pragma once

#include "tensor_copy.cuh"
#include "wgmma.cuh"
#include "wgmma_pipeline.cuh"
#include "wgmma_shared.cuh"
#include "wgmma_state.cuh"

// Where its products read: Q, and the first places of the rings of K and V. (A base of its own,
// before Pipeline: the order decides how ptxas numbers registers.)
struct Operands {
  Matrix q_, k_, v_;

  __device__ __forceinline__ Operands(unsigned base, int row_group)
      : q_(moved_by<8192>(matrix_at(base, 16, 1024), row_group)),
        k_(moved(matrix_at(base, 16, 1024), kK)),
        v_(moved(matrix_at(base, DTYPE_E4M3 ? 16 : kKeyPanel, 1024), kV)) {}
};

class Products : Operands, protected Pipeline {
 protected:
  __device__ __forceinline__ Products(unsigned base, int group, int lane)
      : Operands(base, row_group_of(group)), Pipeline(base, group, lane) {}

  __device__ __forceinline__ void issue_q_k(ConsumerState& state) {
    auto& scores = state.scores;
    const Matrix q = moved_by<kQBytes>(q_, q_at_.slot);
    const Matrix k = moved_by<kKeyBytes>(k_, slot(k_at_));
    pin_registers(scores);
    begin_products();
#pragma unroll
    for (int step = 0; step < kDepths; ++step) {
      const int panel = step / 4;
      const int along = step % 4 * 32;
      const Matrix b = moved(k, panel * kKeyPanel + along);
      if constexpr (kQPlace == QPlace::in_registers)
        Wgmma<BLOCK_N>::template from_registers<0>(scores, state.q[step], b, step != 0);
      else
        Wgmma<BLOCK_N>::from_shared(scores, moved(q, panel * kQPanel + along), b, step != 0);
    }
    commit_products();
  }

  template <int kFirst, int kEnd>
  __device__ __forceinline__ void issue_p_v(ConsumerState& state) {
    const Matrix v = moved_by<kVBytes>(v_, slot(v_at()));
    pin_registers(state.output);
    begin_products();
#pragma unroll
    for (int step = kFirst; step < kEnd; ++step) {
      const int along = DTYPE_E4M3 ? step / 4 * kVPanel + step % 4 * 32 : step * 2048;
      Wgmma<HEAD_DIM>::from_registers<!DTYPE_E4M3>(state.output, state.p[step], moved(v, along), 1);
    }
    commit_products();
  }

  __device__ __forceinline__ void finish_p_v(ConsumerState& state) {
    wait_products<0>();
    pin_registers(state.output);
    release_v();
  }
};
