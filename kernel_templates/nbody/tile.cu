// Gravity in tiles: TILE bodies lie in shared memory at a time, where all threads of a warp read
// the same one. PER: bodies whose acceleration a thread sums in registers, so that one read serves
// them all; they lie THREADS apart. SPLIT: threads that share a body, each with a part of every
// tile, for fewer bodies than the GPU has threads. UNROLL: bodies of a tile at a time. RSQRT:
// whether the root's reciprocal is taken as the unit for it gives it, or asked for again where it
// is a subnormal number.

#include "defaults.cuh"

enum class Rsqrt { exact, flushed };

constexpr int part = TILE / SPLIT;  // of a tile, that is one thread's
// For a pragma: nvcc expands no macro there, and a constant would be a variable of the module.
enum { unroll = UNROLL };

struct Sum {
  float x, y, z;
};

__device__ __forceinline__ float inverse_root(float x) {
  if (Rsqrt::RSQRT == Rsqrt::exact) return rsqrtf(x);
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ void attract(Sum& sum, float4 body, float4 other, float softening) {
  float dx = other.x - body.x, dy = other.y - body.y, dz = other.z - body.z;
  float inverse = inverse_root(dx * dx + dy * dy + dz * dz + softening);
  float factor = other.w * inverse * inverse * inverse;
  sum.x += factor * dx;
  sum.y += factor * dy;
  sum.z += factor * dz;
}

// A body without mass attracts nobody.
__device__ __forceinline__ float4 body_at(const float4* bodies, int i, int n) {
  return i < n ? bodies[i] : make_float4(0, 0, 0, 0);
}

__global__ void __launch_bounds__(THREADS* SPLIT)
    nbody_tile(const float4* bodies, float* acceleration, int n, float softening) {
  __shared__ float4 tile[TILE];
  const int own = threadIdx.y * THREADS + threadIdx.x;
  const int first = blockIdx.x * THREADS * PER + threadIdx.x;
  float4 body[PER];
  Sum sum[PER] = {};
#pragma unroll
  for (int p = 0; p < PER; ++p) body[p] = body_at(bodies, first + p * THREADS, n);
  for (int start = 0; start < n; start += TILE) {
    for (int i = own; i < TILE; i += THREADS * SPLIT) tile[i] = body_at(bodies, start + i, n);
    __syncthreads();
#pragma unroll unroll
    for (int j = 0; j < part; ++j) {
      float4 other = tile[threadIdx.y * part + j];
#pragma unroll
      for (int p = 0; p < PER; ++p) attract(sum[p], body[p], other, softening);
    }
    __syncthreads();
  }

  __shared__ Sum shares[SPLIT][THREADS];
#pragma unroll
  for (int p = 0; p < PER; ++p) {
    if (SPLIT > 1) {
      shares[threadIdx.y][threadIdx.x] = sum[p];
      __syncthreads();
      if (threadIdx.y == 0)
        for (int s = 1; s < SPLIT; ++s) {
          sum[p].x += shares[s][threadIdx.x].x;
          sum[p].y += shares[s][threadIdx.x].y;
          sum[p].z += shares[s][threadIdx.x].z;
        }
      __syncthreads();
    }
    const int i = first + p * THREADS;
    if (threadIdx.y == 0 && i < n) {
      acceleration[3 * i] = sum[p].x;
      acceleration[3 * i + 1] = sum[p].y;
      acceleration[3 * i + 2] = sum[p].z;
    }
  }
}
