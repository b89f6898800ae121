// What one thread of a warpgroup of consumers holds.
#pragma once

#include "math.cuh"
#include "wgmma_scales.cuh"
#include "wgmma_shared.cuh"
#include "wgmma_softmax.cuh"

struct ConsumerState {
  float output[kOutputs];
  float scores[kScores];
  unsigned p[kSteps][4];
  unsigned q[kDepths][4];  // Q_PLACE in_registers
  Rows rows;
  // e4m3, see wgmma_scales.cuh.
  float q_unit[2];   // with the scale of 1 / sqrt(D)
  float k_unit;      // of the tile whose scores are here or on their way
  float v_unit;      // that the output is in
  float next_v_unit;
  Factors factors;   // of the scores
};

__device__ __forceinline__ void clear(float (&output)[kOutputs]) {
#pragma unroll
  for (int i = 0; i < kOutputs; ++i) output[i] = 0.0f;
}

__device__ __forceinline__ Rows fresh_rows() {
  return {{minus_infinity(), minus_infinity()}, {0.0f, 0.0f}};
}
