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

// Has addresses computed here, in front of a wait or barrier that follows: ptxas puts off what is
// needed behind one, but not across a branch. Never taken, as no address is negative: a loop, since
// a predicate would do for less.
template <typename... Address>
__device__ __forceinline__ void compute_here(const Address&... addresses) {
  const auto is_negative = [](auto address) {
    if constexpr (sizeof(address) == 8)
      return reinterpret_cast<long long>(address) < 0;
    else
      return static_cast<int>(address) < 0;
  };
  while ((is_negative(addresses) || ...)) asm volatile("nanosleep.u32 0;");
}
