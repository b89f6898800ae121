// The 16-bit element type of a kernel: fp16, or bfloat16 where the problem defines DTYPE_BF16 as 1.
// Elements travel as raw bits; only these functions know what they mean. PTX ISA: cvt.
#pragma once

using Element = unsigned short;

__device__ __forceinline__ float to_float(Element bits) {
#if DTYPE_BF16
  return __uint_as_float(static_cast<unsigned>(bits) << 16);
#else
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
#endif
}

// Rounds both to nearest even; `low` goes to the lower half.
__device__ __forceinline__ unsigned pack(float low, float high) {
  unsigned bits;
#if DTYPE_BF16
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
#elif __CUDA_ARCH__ < 800
  asm("{ .reg .b16 l, h; cvt.rn.f16.f32 l, %2; cvt.rn.f16.f32 h, %1; mov.b32 %0, {l, h}; }"
      : "=r"(bits)
      : "f"(high), "f"(low));
#else
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
#endif
  return bits;
}
