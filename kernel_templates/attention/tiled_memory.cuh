// What the steps of tiled.cu agree on: the meaning of the genes, what lies where, and how tiles
// come and go.
#pragma once

#include "element.cuh"

enum class Work { elements, rows };
enum class Reduction { single, serial, warp };
enum class Output { in_shared, in_registers };
enum class Io { scalar, vector };

constexpr Work kWork = Work::WORK;
constexpr Output kOutput = Output::OUTPUT;
constexpr int kThreads = WARPS * 32;
constexpr Reduction kReduction = Reduction::REDUCTION;
constexpr int kSharers = kReduction == Reduction::warp ? 32 : 1;  // threads for a row's softmax
constexpr int kAtOnce =
    kReduction == Reduction::single ? 1 : kThreads / kSharers;  // rows in softmax together
constexpr int kWide = Io::IO == Io::vector ? 8 : 1;             // elements a global access

// Rows lie an odd number of 4-byte words apart, so that 32 rows of a column lie in 32 banks.
constexpr int kPitch = HEAD_DIM + 2;
constexpr int kScorePitch = BLOCK_N + 1;

// Outputs that a thread owns throughout, and which: with `elements` every kThreads-th, with `rows`
// those of its warp's rows in columns lane, lane + 32, ...
constexpr int kOwned = (BLOCK_M * HEAD_DIM + kThreads - 1) / kThreads;
constexpr int kWarpRows = kWork == Work::rows ? BLOCK_M / WARPS : 1;
constexpr int kColumns = HEAD_DIM / 32;

__device__ __forceinline__ int owned(int n) {
  if (kWork == Work::elements) return static_cast<int>(threadIdx.x) + n * kThreads;
  const int row = static_cast<int>(threadIdx.x) / 32 * kWarpRows + n / kColumns;
  return row * HEAD_DIM + n % kColumns * 32 + static_cast<int>(threadIdx.x) % 32;
}
__device__ __forceinline__ bool exists(int n) {
  return BLOCK_M * HEAD_DIM % kThreads == 0 || owned(n) < BLOCK_M * HEAD_DIM;
}

struct Accumulators {
  float held[kOutput == Output::in_registers ? kOwned : 1];
  float* mine;  // in shared memory, this thread's first

  __device__ __forceinline__ float& operator[](int n) {
    return kOutput == Output::in_registers ? held[n] : mine[n * kThreads];
  }
};

// Shared memory: tiles of elements, then floats.
struct Memory {
  Element* q;       // [BLOCK_M][kPitch]
  Element* k;       // [BLOCK_N][kPitch]
  Element* v;       // [BLOCK_N][kPitch]
  float* scores;    // [BLOCK_M][kScorePitch], then probabilities
  float* maximum;   // [BLOCK_M], as an exponent of two
  float* sum;       // [BLOCK_M]
  float* shrink;    // [BLOCK_M]
  float* output;    // [kOwned][kThreads]

  __device__ __forceinline__ explicit Memory(char* base)
      : q(reinterpret_cast<Element*>(base)),
        k(q + BLOCK_M * kPitch),
        v(k + BLOCK_N * kPitch),
        scores(reinterpret_cast<float*>(v + BLOCK_N * kPitch)),
        maximum(scores + BLOCK_M * kScorePitch),
        sum(maximum + BLOCK_M),
        shrink(sum + BLOCK_M),
        output(shrink + BLOCK_M) {}
};

// kRows rows of `global`, `stride` elements apart; those from `end` on do not exist and become
// zero.
template <int kRows>
__device__ __forceinline__ void copy_in(Element* tile, const Element* global, int stride, int first,
                                        int end) {
  for (int i = threadIdx.x * kWide; i < kRows * HEAD_DIM; i += kThreads * kWide) {
    const int row = i / HEAD_DIM;
    const int column = i % HEAD_DIM;
    const Element* const from = global + static_cast<long long>(first + row) * stride + column;
    Element* const to = tile + row * kPitch + column;
    if constexpr (kWide == 1) {
      *to = first + row < end ? *from : Element{0};
    } else {
      const uint4 read =
          first + row < end ? *reinterpret_cast<const uint4*>(from) : uint4{0, 0, 0, 0};
      const unsigned words[4] = {read.x, read.y, read.z, read.w};
#pragma unroll
      for (int w = 0; w < 4; ++w) reinterpret_cast<unsigned*>(to)[w] = words[w];
    }
  }
}

__device__ __forceinline__ void copy_out(Element* global, const Element* tile, int stride,
                                         int first, int end) {
  for (int i = threadIdx.x * kWide; i < BLOCK_M * HEAD_DIM; i += kThreads * kWide) {
    const int row = i / HEAD_DIM;
    const int column = i % HEAD_DIM;
    if (first + row >= end) break;  // rows grow with i
    Element* const to = global + static_cast<long long>(first + row) * stride + column;
    const Element* const from = tile + row * kPitch + column;
    if constexpr (kWide == 1) {
      *to = *from;
    } else {
      const unsigned* const words = reinterpret_cast<const unsigned*>(from);
      *reinterpret_cast<uint4*>(to) = uint4{words[0], words[1], words[2], words[3]};
    }
  }
}
