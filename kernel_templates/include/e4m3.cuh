// Bytes of e4m3: 4 significant bits, from 2^-9 to 448. PTX ISA: cvt, "Alternate floating point data
// formats".
#pragma once

// Four of them, `a` in the lowest byte, rounded to nearest even; what is too large becomes 448.
__device__ __forceinline__ unsigned pack_e4m3(float a, float b, float c, float d) {
  unsigned bits;
  asm("{\n.reg .b16 low, high;\n"
      "cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
      "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n"
      "mov.b32 %0, {low, high};\n}"
      : "=r"(bits)
      : "f"(a), "f"(b), "f"(c), "f"(d));
  return bits;
}
