// Asynchronous copies from global to shared memory, sm_80 and later. PTX ISA: cp.async.
#pragma once

// What L2 is told of a copy: nothing; to fetch the whole 128 bytes around it; to give these bytes
// up last.
enum class L2Hint { none, prefetch, keep };

// 16 bytes, past L1. Where `inside` is false nothing is read and 16 zero bytes are written.
template <L2Hint kHint = L2Hint::none>
__device__ __forceinline__ void copy_16_async(unsigned shared, const void* global, bool inside) {
  const int bytes = inside ? 16 : 0;
  if constexpr (kHint == L2Hint::none) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global),
                 "r"(bytes)
                 : "memory");
  } else if constexpr (kHint == L2Hint::prefetch) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared),
                 "l"(global), "r"(bytes)
                 : "memory");
  } else {
    asm volatile(
        "{\n.reg .b64 policy;\n"
        "createpolicy.fractional.L2::evict_last.b64 policy, 1.0;\n"
        "cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, policy;\n}" ::"r"(shared),
        "l"(global), "r"(bytes)
        : "memory");
  }
}

__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most `kPending` of this thread's latest groups are still under way.
template <int kPending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}
