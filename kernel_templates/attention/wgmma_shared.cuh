// What the warpgroups of wgmma.cu agree on: the meaning of the genes, the shared memory and its barriers.
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

constexpr int kGroup = 128;  // threads of a warpgroup
constexpr int kThreads = (1 + CONSUMERS) * kGroup;
constexpr int kConsumerWarps = 4 * CONSUMERS;
// Registers a thread, of the warpgroup that copies and of those that compute: in all no more than the block starts
// with, which the launch bounds say. One block of one consumer starts with as many as there can be.
constexpr bool kShiftsRegisters = CONSUMERS > 1 || BLOCKS > 1;
constexpr int kFewRegisters = CONSUMERS == 2 ? 40 : CONSUMERS == 3 ? 32 : 24;
constexpr int kManyRegisters = CONSUMERS == 4 ? 112 : CONSUMERS == 3 ? 160 : 232;
constexpr int kPanels = (HEAD_DIM + 63) / 64;  // a tile lies in panels of 64 columns, which are 128 bytes
constexpr int kQPanel = BLOCK_M * 128;
constexpr int kKeyPanel = BLOCK_N * 128;
constexpr int kQBytes = kPanels * kQPanel;
constexpr int kKeyBytes = kPanels * kKeyPanel;

// Shared memory, from a multiple of 1024 on: the ring of Q, O if it has a place, the rings of K and V, the barriers.
constexpr int kO = Q_STAGES * kQBytes;
constexpr int kK = kO + (kOPlace == OPlace::own ? kQBytes : 0);
constexpr int kV = kK + STAGES * kKeyBytes;
constexpr int kQFull = kV + STAGES * kKeyBytes;
constexpr int kQEmpty = kQFull + 8 * Q_STAGES;
constexpr int kKFull = kQEmpty + 8 * Q_STAGES;
constexpr int kKEmpty = kKFull + 8 * STAGES;
constexpr int kVFull = kKEmpty + 8 * STAGES;
constexpr int kVEmpty = kVFull + 8 * STAGES;

using Place = RingPlace<STAGES>;

// Numbered barriers: a warpgroup's own, and the one that lets it issue products (PING_PONG).
__device__ __forceinline__ int own_barrier(int group) { return 1 + group; }
__device__ __forceinline__ int turn_barrier(int group) { return 1 + CONSUMERS + group; }

__device__ __forceinline__ void make_barriers(unsigned base) {
#pragma unroll
  for (int slot = 0; slot < Q_STAGES; ++slot) {
    init_mbarrier(base + kQFull + 8 * slot, 1);
    init_mbarrier(base + kQEmpty + 8 * slot, kConsumerWarps);
  }
#pragma unroll
  for (int slot = 0; slot < STAGES; ++slot) {
    init_mbarrier(base + kKFull + 8 * slot, 1);
    init_mbarrier(base + kVFull + 8 * slot, 1);
    init_mbarrier(base + kKEmpty + 8 * slot, kConsumerWarps * CLUSTER);
    init_mbarrier(base + kVEmpty + 8 * slot, kConsumerWarps * CLUSTER);
  }
  publish_mbarriers();
}
