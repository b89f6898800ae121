// Single-precision helpers. exp2_approx maps to one ex2.approx.ftz: at most 2 ulp (PTX ISA: ex2).
#pragma once

constexpr float kLog2E = 1.4426950408889634f;
constexpr float kLn2 = 0.6931471805599453f;

__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// PTX ISA: lg2, absolute error at most 2^-22.
__device__ __forceinline__ float log2_approx(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// PTX ISA: rcp, at most 1 ulp.
__device__ __forceinline__ float reciprocal_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ float minus_infinity() { return __uint_as_float(0xff800000u); }

// The same number, which ptxas keeps from here on: as it came out of a shuffle. Others it computes
// anew where they are needed, even behind a wait.
__device__ __forceinline__ int keep_computed(int number) {
  return __shfl_sync(0xffffffffu, number, static_cast<int>(threadIdx.x) % 32);
}

// Has these pointers and words computed here, in front of a wait or barrier that follows: ptxas
// puts off what is needed behind one, but not across a branch. None of them may be negative, so
// that it is never taken. A loop, as a predicate would do for less.
template <typename... Value>
__device__ __forceinline__ void compute_here(const Value&... values) {
  const auto is_negative = [](auto value) {
    if constexpr (sizeof(value) == 8)
      return reinterpret_cast<long long>(value) < 0;
    else
      return static_cast<int>(value) < 0;
  };
  while ((is_negative(values) || ...)) asm volatile("nanosleep.u32 0;");
}
