// Tensor cores through wmma: 16 x 16 x 16 matrices of a warp whose places in registers nobody
// tells. What is to be done with an element (softmax, rescaling) must be done in memory. PTX ISA:
// wmma.load, wmma.mma, wmma.store.
#pragma once

#include "element.cuh"
#include "shared.cuh"

#if DTYPE_BF16
#define WMMA_ELEMENT "bf16"
#define WMMA_TYPES "f32.bf16.bf16.f32"
constexpr int kWmmaRegisters = 4;
#else
#define WMMA_ELEMENT "f16"
#define WMMA_TYPES "f32.f32"
constexpr int kWmmaRegisters = 8;
#endif

// One factor of a product, and a sum.
struct WmmaFactor {
  unsigned r[kWmmaRegisters];
};
struct WmmaSum {
  float r[8];
};

// Addresses are those of shared memory, aligned to 32 bytes; strides are elements between rows
// (columns with `col`), a multiple of 8 for 16-bit elements and of 4 for floats.
#if DTYPE_BF16
#define WMMA_LOAD_FACTOR(matrix, order)                                                     \
  asm volatile("wmma.load." matrix ".sync.aligned." order ".m16n16k16.shared." WMMA_ELEMENT \
               " {%0, %1, %2, %3}, [%4], %5;"                                               \
               : "=r"(x.r[0]), "=r"(x.r[1]), "=r"(x.r[2]), "=r"(x.r[3])                     \
               : "r"(address), "r"(stride)                                                  \
               : "memory")
#else
#define WMMA_LOAD_FACTOR(matrix, order)                                                     \
  asm volatile("wmma.load." matrix ".sync.aligned." order ".m16n16k16.shared." WMMA_ELEMENT \
               " {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"                               \
               : "=r"(x.r[0]), "=r"(x.r[1]), "=r"(x.r[2]), "=r"(x.r[3]), "=r"(x.r[4]),      \
                 "=r"(x.r[5]), "=r"(x.r[6]), "=r"(x.r[7])                                   \
               : "r"(address), "r"(stride)                                                  \
               : "memory")
#endif

__device__ __forceinline__ WmmaFactor load_a(unsigned address, int stride) {
  WmmaFactor x;
  WMMA_LOAD_FACTOR("a", "row");
  return x;
}
__device__ __forceinline__ WmmaFactor load_b(unsigned address, int stride) {
  WmmaFactor x;
  WMMA_LOAD_FACTOR("b", "row");
  return x;
}
// B as the transpose of what lies there in rows.
__device__ __forceinline__ WmmaFactor load_b_transposed(unsigned address, int stride) {
  WmmaFactor x;
  WMMA_LOAD_FACTOR("b", "col");
  return x;
}

__device__ __forceinline__ WmmaSum load_sum(unsigned address, int stride) {
  WmmaSum x;
  asm volatile(
      "wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], "
      "%9;"
      : "=f"(x.r[0]), "=f"(x.r[1]), "=f"(x.r[2]), "=f"(x.r[3]), "=f"(x.r[4]), "=f"(x.r[5]),
        "=f"(x.r[6]), "=f"(x.r[7])
      : "r"(address), "r"(stride)
      : "memory");
  return x;
}
__device__ __forceinline__ void store_sum(unsigned address, const WmmaSum& x, int stride) {
  asm volatile(
      "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8}, "
      "%9;" ::"r"(address),
      "f"(x.r[0]), "f"(x.r[1]), "f"(x.r[2]), "f"(x.r[3]), "f"(x.r[4]), "f"(x.r[5]), "f"(x.r[6]),
      "f"(x.r[7]), "r"(stride)
      : "memory");
}

// The orders in which the factors were loaded are part of the instruction, as places in registers
// depend on them.
#if DTYPE_BF16
#define WMMA_MULTIPLY(order)                                                                     \
  asm volatile("wmma.mma.sync.aligned.row." order ".m16n16k16." WMMA_TYPES                       \
               " {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, {%12, %13, %14, %15}, "   \
               "{%0, %1, %2, %3, %4, %5, %6, %7};"                                               \
               : "+f"(sum.r[0]), "+f"(sum.r[1]), "+f"(sum.r[2]), "+f"(sum.r[3]), "+f"(sum.r[4]), \
                 "+f"(sum.r[5]), "+f"(sum.r[6]), "+f"(sum.r[7])                                  \
               : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "r"(b.r[0]), "r"(b.r[1]),   \
                 "r"(b.r[2]), "r"(b.r[3]))
#else
#define WMMA_MULTIPLY(order)                                                                     \
  asm volatile("wmma.mma.sync.aligned.row." order ".m16n16k16." WMMA_TYPES                       \
               " {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11, %12, %13, %14, %15}, "     \
               "{%16, %17, %18, %19, %20, %21, %22, %23}, {%0, %1, %2, %3, %4, %5, %6, %7};"     \
               : "+f"(sum.r[0]), "+f"(sum.r[1]), "+f"(sum.r[2]), "+f"(sum.r[3]), "+f"(sum.r[4]), \
                 "+f"(sum.r[5]), "+f"(sum.r[6]), "+f"(sum.r[7])                                  \
               : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "r"(a.r[4]), "r"(a.r[5]),   \
                 "r"(a.r[6]), "r"(a.r[7]), "r"(b.r[0]), "r"(b.r[1]), "r"(b.r[2]), "r"(b.r[3]),   \
                 "r"(b.r[4]), "r"(b.r[5]), "r"(b.r[6]), "r"(b.r[7]))
#endif

// sum += a b, with b from load_b.
__device__ __forceinline__ void multiply(WmmaSum& sum, const WmmaFactor& a, const WmmaFactor& b) {
  WMMA_MULTIPLY("row");
}
// sum += a b, with b from load_b_transposed.
__device__ __forceinline__ void multiply_transposed(WmmaSum& sum, const WmmaFactor& a,
                                                    const WmmaFactor& b) {
  WMMA_MULTIPLY("col");
}
