// Barriers in shared memory that count arrivals and bytes, and barriers with a number, for sm_90.
// PTX ISA: "Parallel Synchronization and Communication Instructions: mbarrier", barrier,
// setmaxnreg.
#pragma once

__device__ __forceinline__ void init_mbarrier(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Nothing may be under way at it. Afterwards it may be made anew.
__device__ __forceinline__ void invalidate_mbarrier(unsigned barrier) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

// Makes barriers just made known to the copy engine and to the other blocks of a cluster.
__device__ __forceinline__ void publish_mbarriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives at the barrier that lies at the same place in the shared memory of block `rank`. For
// those who have only read: nothing written before is published to the other block, which would
// take a fence of the whole GPU each time (.release.cluster).
__device__ __forceinline__ void arrive_in_cluster(unsigned barrier, unsigned rank) {
  asm volatile(
      "{\n.reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}

// Arrives, and says how many bytes the phase waits for besides.
__device__ __forceinline__ void arrive_and_expect(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// Returns once the phase of this parity is over.
__device__ __forceinline__ void wait_for(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\nAGAIN:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra AGAIN;\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// Where one is in a ring of kSlots: the slot, and the parity of the round.
template <int kSlots>
struct PipelineState {
  unsigned slot = 0;
  unsigned parity = 0;

  __device__ __forceinline__ void advance() {
    if (++slot == kSlots) {
      slot = 0;
      parity ^= 1;
    }
  }
  __device__ __forceinline__ void retreat() {
    if (slot == 0) {
      slot = kSlots;
      parity ^= 1;
    }
    --slot;
  }
};

// Barrier `number` of the block: `threads` take part, those that sync wait for all.
__device__ __forceinline__ void sync_numbered(int number, int threads) {
  asm volatile("barrier.sync.aligned %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

// The same; whether `flag` is set in any of the threads.
__device__ __forceinline__ bool any_numbered(int number, int threads, bool flag) {
  int any;
  asm volatile(
      "{ .reg .pred of_this, of_any;\n"
      "setp.ne.s32 of_this, %3, 0;\n"
      "barrier.red.or.aligned.pred of_any, %1, %2, of_this;\n"
      "selp.s32 %0, 1, 0, of_any; }"
      : "=r"(any)
      : "r"(number), "r"(threads), "r"(static_cast<int>(flag))
      : "memory");
  return any != 0;
}

__device__ __forceinline__ void arrive_numbered(int number, int threads) {
  asm volatile("barrier.arrive.aligned %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ __forceinline__ void sync_cluster() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
}

// Every warp of a warpgroup executes one of these before its part of the work begins.
template <int kRegisters>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
