// What the parts of wmma.cu agree on: the meaning of the genes, and what lies where in shared
// memory.
#pragma once

#include "copy.cuh"
#include "element.cuh"
#include "shared.cuh"

enum class Pv { scalar, wmma };
enum class Copy { plain, async, producer };
enum class FragmentLayout { plain, padded, fragments };
enum class Epilogue { separate, fused };

constexpr Pv kPv = Pv::PV;
constexpr Copy kCopy = Copy::COPY;
constexpr FragmentLayout kLayout = FragmentLayout::LAYOUT;
constexpr Epilogue kEpilogue = Epilogue::EPILOGUE;
constexpr L2Hint kHint = L2Hint::L2_HINT;

constexpr int kStripes = BLOCK_M / 16;   // of 16 rows
constexpr int kParts = WARPS / kStripes;  // warps that share a stripe's columns
constexpr int kWorkers = WARPS * 32;      // threads that compute
constexpr int kThreads = kWorkers + (kCopy == Copy::producer ? 32 : 0);
constexpr int kCopiers = kCopy == Copy::producer ? 32 : kThreads;  // the last ones of the block

// A matrix of 16-bit elements in shared memory. wmma.load takes 16 rows that lie equally far apart,
// so a row's chunks cannot be exchanged by xor, as ldmatrix allows; what comes to the same is that
// each 16 x 16 fragment is 512 bytes in a row: no two of its rows share a bank, and nothing is
// spent on padding.
template <int kColumns>
struct Matrix {
  static constexpr int kStride = kLayout == FragmentLayout::fragments
                                     ? 16
                                     : kColumns + (kLayout == FragmentLayout::padded ? 8 : 0);

  static constexpr int bytes(int rows) {
    return rows * (kLayout == FragmentLayout::fragments ? kColumns : kStride) * 2;
  }
  // Bytes from the start to an element; of a fragment, to its first one.
  __device__ __forceinline__ static int offset(int row, int column) {
    if (kLayout != FragmentLayout::fragments) return (row * kStride + column) * 2;
    return ((row / 16 * (kColumns / 16) + column / 16) * 256 + row % 16 * 16 + column % 16) * 2;
  }
};
using QkvTile = Matrix<HEAD_DIM>;           // Q, K, V
using Probabilities = Matrix<BLOCK_N>;

constexpr int kFloatPad = kLayout == FragmentLayout::plain ? 0 : 4;
constexpr int kScorePitch = BLOCK_N + kFloatPad;
constexpr int kOutputPitch = HEAD_DIM + kFloatPad;

// Bytes from the start of shared memory.
constexpr int kTileBytes = QkvTile::bytes(BLOCK_N);
constexpr int kKStart = QkvTile::bytes(BLOCK_M);
constexpr int kVStart = kKStart + STAGES * kTileBytes;
constexpr int kPStart = kVStart + STAGES * kTileBytes;
// Scalar work reads probabilities as floats, in the scores' place.
constexpr int kScoreStart = kPStart + (kPv == Pv::wmma ? Probabilities::bytes(BLOCK_M) : 0);
constexpr int kOutputStart = kScoreStart + BLOCK_M * kScorePitch * 4;
constexpr int kStateStart = kOutputStart + BLOCK_M * kOutputPitch * 4;

struct Memory {
  char* base;
  unsigned address;

  __device__ __forceinline__ explicit Memory(char* shared)
      : base(shared), address(shared_address(shared)) {}

  __device__ __forceinline__ float* scores(int row) const {
    return reinterpret_cast<float*>(base + kScoreStart) + row * kScorePitch;
  }
  __device__ __forceinline__ float* output(int row) const {
    return reinterpret_cast<float*>(base + kOutputStart) + row * kOutputPitch;
  }
  // Of the row so far: the largest score, as an exponent of two, and the sum of probabilities.
  __device__ __forceinline__ float& maximum(int row) const {
    return reinterpret_cast<float*>(base + kStateStart)[row];
  }
  __device__ __forceinline__ float& sum(int row) const {
    return reinterpret_cast<float*>(base + kStateStart)[BLOCK_M + row];
  }

  // Rows of Q, K or V to byte `start`; those from `end` on do not exist and become zero. For the
  // copiers alone.
  template <int kRows>
  __device__ __forceinline__ void copy_in(int start, const Element* global, int stride, int first,
                                          int end) const {
    constexpr int kChunks = HEAD_DIM / 8;
    for (int i = static_cast<int>(threadIdx.x) - (kThreads - kCopiers); i < kRows * kChunks;
         i += kCopiers) {
      const int row = i / kChunks;
      const int column = i % kChunks * 8;
      const bool inside = first + row < end;
      // An address inside the tensor even where nothing is read.
      const Element* const from =
          global + static_cast<long long>(inside ? first + row : 0) * stride + column;
      const int to = start + QkvTile::offset(row, column);
      if constexpr (kCopy == Copy::plain) {
        *reinterpret_cast<uint4*>(base + to) =
            inside ? *reinterpret_cast<const uint4*>(from) : uint4{0, 0, 0, 0};
      } else {
        copy_16_async<kHint>(address + to, from, inside);
      }
    }
  }
};
