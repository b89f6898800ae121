// What the warpgroups of wgmma.cu agree on: the meaning of the genes, the shared memory and its
// barriers.
#pragma once

#include "mbarrier.cuh"

enum class Overlap { none, chained, ahead, ahead_held };
enum class QPlace { in_shared, in_registers };
enum class OPlace { over_q, own };
constexpr Overlap kOverlap = Overlap::OVERLAP;
constexpr QPlace kQPlace = QPlace::Q_PLACE;
constexpr OPlace kOPlace = OPlace::O_PLACE;
constexpr bool kAhead = kOverlap == Overlap::ahead || kOverlap == Overlap::ahead_held;
constexpr bool kCarry = CARRY && kAhead;

constexpr int kWarpgroupThreads = 128;  // threads of a warpgroup
constexpr int kThreads = (1 + CONSUMERS) * kWarpgroupThreads;
constexpr int kConsumerWarps = 4 * CONSUMERS;
constexpr int kRowGroups = CONSUMERS / KEY_GROUPS;  // warpgroups with rows of their own
// Which 64 of the block's rows a warpgroup of consumers has.
__device__ __forceinline__ int row_group_of(int group) {
  return KEY_GROUPS == 1 ? group : group % kRowGroups;
}
constexpr int kReaders = kConsumerWarps / KEY_GROUPS;  // warps that read a tile of keys
// Registers a thread, of the warpgroup that copies and of those that compute: in all no more than
// the block starts with, which the launch bounds say. One block of one consumer starts with as many
// as there can be.
constexpr bool kShiftsRegisters = CONSUMERS > 1 || BLOCKS > 1;
constexpr int kFewRegisters = CONSUMERS == 2 ? 40 : CONSUMERS == 3 ? 32 : 24;
constexpr int kManyRegisters = CONSUMERS == 4 ? 112 : CONSUMERS == 3 ? 160 : 232;
// With more, some warpgroup would wait for its registers for ever.
static_assert(kFewRegisters + CONSUMERS * kManyRegisters <=
                  65536 / BLOCKS / kThreads / 8 * 8 * (1 + CONSUMERS),
              "more registers than the block starts with");

// A tile lies in panels of 128 bytes a row: 64 columns of 16 bits, 128 of 8.
constexpr int kElementBytes = DTYPE_E4M3 ? 1 : 2;
constexpr int kPanelColumns = 128 / kElementBytes;
constexpr int kPanels = (HEAD_DIM + kPanelColumns - 1) / kPanelColumns;
constexpr int kOPanels = (HEAD_DIM + 63) / 64;  // O has 16 bits
constexpr int kQPanel = BLOCK_M * 128;          // and O's
constexpr int kKeyPanel = BLOCK_N * 128;
constexpr int kQBytes = kPanels * kQPanel;
constexpr int kOBytes = kOPanels * kQPanel;
constexpr int kKeyBytes = kPanels * kKeyPanel;
constexpr int kDepths = HEAD_DIM * kElementBytes / 32;  // steps of Q K^T, 32 bytes deep

// V as P V reads it: as it comes, or transposed (wgmma_transpose.cuh): columns by keys, in panels
// of 128 keys.
constexpr int kTransposeWarps = 3;  // warps that do it
constexpr int kVPanel = DTYPE_E4M3 ? HEAD_DIM * 128 : kKeyPanel;
constexpr int kVBytes = DTYPE_E4M3 ? (BLOCK_N + 127) / 128 * kVPanel : kKeyBytes;
constexpr int kVRowsStages = DTYPE_E4M3 ? STAGES : 0;  // slots for V as it comes, if not kV's

// Shared memory, from a multiple of 1024 on: the ring of Q, O if it has a place, the rings of K and
// V, the barriers.
constexpr int kO = Q_STAGES * kQBytes;
constexpr int kK = kO + (kOPlace == OPlace::own ? kOBytes : 0);
constexpr int kV = kK + STAGES * kKeyBytes;
constexpr int kVRows = kV + STAGES * kVBytes;
constexpr int kQFull = kVRows + kVRowsStages * kKeyBytes;
constexpr int kQEmpty = kQFull + 8 * Q_STAGES;
constexpr int kKFull = kQEmpty + 8 * Q_STAGES;
constexpr int kKEmpty = kKFull + 8 * STAGES;
constexpr int kVFull = kKEmpty + 8 * STAGES;
constexpr int kVEmpty = kVFull + 8 * STAGES;
constexpr int kVRowsFull = kVEmpty + 8 * STAGES;
constexpr int kVRowsEmpty = kVRowsFull + 8 * kVRowsStages;

using KvPipelineState = PipelineState<STAGES>;

// Numbered barriers: a warpgroup's own, and the one that lets it issue products (PING_PONG).
__device__ __forceinline__ int own_barrier(int group) { return 1 + group; }
__device__ __forceinline__ int turn_barrier(int group) { return 1 + CONSUMERS + group; }

// All warpgroups of consumers (SPLIT_KV, KEY_GROUPS).
__device__ __forceinline__ int combine_barrier() { return 1 + 2 * CONSUMERS; }

__device__ __forceinline__ void make_barriers(unsigned base) {
#pragma unroll
  for (int slot = 0; slot < Q_STAGES; ++slot) {
    init_mbarrier(base + kQFull + 8 * slot, 1);
    init_mbarrier(base + kQEmpty + 8 * slot, kConsumerWarps);
  }
#pragma unroll
  for (int slot = 0; slot < STAGES; ++slot) {
    init_mbarrier(base + kKFull + 8 * slot, 1);
    init_mbarrier(base + kVFull + 8 * slot, DTYPE_E4M3 ? kTransposeWarps : 1);
    init_mbarrier(base + kKEmpty + 8 * slot, kReaders * CLUSTER);
    init_mbarrier(base + kVEmpty + 8 * slot, kReaders * CLUSTER);
  }
#pragma unroll
  for (int slot = 0; slot < kVRowsStages; ++slot) {
    init_mbarrier(base + kVRowsFull + 8 * slot, 1);
    init_mbarrier(base + kVRowsEmpty + 8 * slot, kTransposeWarps);
  }
  publish_mbarriers();
}
