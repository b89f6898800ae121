// Asynchronous copies from global to shared memory, sm_80 and later. PTX ISA: cp.async.
#pragma once

// 16 bytes, past L1. Where `inside` is false nothing is read and 16 zero bytes are written.
__device__ __forceinline__ void copy_16_async(unsigned shared, const void* global, bool inside) {
  const int bytes = inside ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global),
               "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most `kPending` of this thread's latest groups are still under way.
template <int kPending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}
