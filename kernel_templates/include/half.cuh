// Elements of 16 bits for plain references, by the names that cuda_fp16.h has for them. Where a
// reference is run in double (engine/problem/custom/widen.hpp) `half` is a macro for double, and so
// are the conversions.
#pragma once

#ifndef half
struct half {
  unsigned short bits;
};

__device__ __forceinline__ float __half2float(half value) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
  return wide;
}

__device__ __forceinline__ half __float2half(float value) {
  half narrow;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(value));
  return narrow;
}
#endif
