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

// Four of these as one statement, whose offsets are in its instructions: NVRTC takes 6% less time for
// a kernel of mma.cu than with four, whose addresses and predicates are computed before them.
// `there` rows exist. The copies are of rows kRow, kRow + kRowStep ..., which lie kPitch bytes apart
// from `even` on, the second and the fourth from `odd` on, and kGlobalPitch bytes from `global` on.
template <L2Hint kHint, int kRow, int kRowStep, int kPitch, int kGlobalPitch>
__device__ __forceinline__ void copy_4_rows_16_async(unsigned even, unsigned odd,
                                                     const void* global, int there) {
  constexpr int kRows[] = {kRow, kRow + kRowStep, kRow + 2 * kRowStep, kRow + 3 * kRowStep};
  // clang-format off
#define COPY_ROW(base, row, to, from, copy, policy) \
  "setp.gt.s32 exists, %3, %" #row ";\n"            \
  "selp.b32 bytes, 16, 0, exists;\n"               \
  copy " [%" #base " + %" #to "], [%2 + %" #from "], 16, bytes" policy ";\n"
#define COPY_ROWS(copy, policy)              \
  "{\n"                                      \
  ".reg .pred exists;\n"                     \
  ".reg .b32 bytes;\n"                       \
  ".reg .b64 policy;\n"                      \
  COPY_ROW(0, 4, 5, 6, copy, policy)         \
  COPY_ROW(1, 7, 8, 9, copy, policy)         \
  COPY_ROW(0, 10, 11, 12, copy, policy)      \
  COPY_ROW(1, 13, 14, 15, copy, policy) "}"
#define OF_ROW(i) "n"(kRows[i]), "n"(kRows[i] * kPitch), "n"(kRows[i] * kGlobalPitch)
#define OPERANDS \
  "r"(even), "r"(odd), "l"(global), "r"(there), OF_ROW(0), OF_ROW(1), OF_ROW(2), OF_ROW(3)
  // clang-format on
  if constexpr (kHint == L2Hint::none)
    asm volatile(COPY_ROWS("cp.async.cg.shared.global", "")::OPERANDS : "memory");
  else if constexpr (kHint == L2Hint::prefetch)
    asm volatile(COPY_ROWS("cp.async.cg.shared.global.L2::128B", "")::OPERANDS : "memory");
  else
    asm volatile(COPY_ROWS("createpolicy.fractional.L2::evict_last.b64 policy, 1.0;\n"
                           "cp.async.cg.shared.global.L2::cache_hint",
                           ", policy")::OPERANDS
                 : "memory");
#undef OPERANDS
#undef OF_ROW
#undef COPY_ROWS
#undef COPY_ROW
}

__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most `kPending` of this thread's latest groups are still under way.
template <int kPending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}
