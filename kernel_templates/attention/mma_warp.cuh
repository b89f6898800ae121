// What a warp that multiplies by mma.sync holds. mma_state.cuh and decode_state.cuh, which include this
// file, say before it
//
//   kWarpRows, kWarpKeys   a warp's rows of the output, and its keys of a tile
//   kKeyParts, kPartKeys   parts in which a tile's keys come, and the keys of each
//   kRowsPerQuery          rows that follow each other and belong to one query
//
// and somewhere key_offset(row, chunk), where a tile of keys has a chunk in shared memory, and
// further_chunk(offset, more), where from there chunk `chunk` + `more` is, if those have no bits in
// common. Eight rows further it is eight times kKeyPitch further.
#pragma once

enum class QPlace { in_shared, in_registers, overlay };
constexpr QPlace kQPlace = QPlace::Q_PLACE;

constexpr int kM = kWarpRows / 16;              // 16-row fragments a warp
constexpr int kN = kWarpKeys / 8;               // 8-key fragments of the scores
constexpr int kPartFragments = kN / kKeyParts;  // of them, in each part
constexpr int kD = HEAD_DIM / 8;                // 8-column fragments of the output
constexpr int kK = HEAD_DIM / 16;               // 16-deep steps of QK^T

// A fragment's first key, counted from the warp's first: it has keys of every part.
__device__ constexpr int key_of_fragment(int j) {
  return j / kPartFragments * kPartKeys + j % kPartFragments * 8;
}

// What one thread holds of its warp's rows. Fragment i has rows g and g + 8 (g = lane / 4) of the
// warp's i-th 16 rows; index [..][h] is the half h.
struct WarpState {
  float output[kM][kD][4];
  // Of the scores before Scores::factor; with RESCALE threshold and by_sum it may lag behind.
  float maximum[kM][2];
  float sum[kM][2];  // this thread's columns only, until the end
};
