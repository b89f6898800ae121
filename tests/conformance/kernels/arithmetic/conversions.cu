// class: arithmetic
// about: conversions between types, with every rounding and with saturation
// grid: [2]
// block: [128]
// args:
//   - f32[256]=bits:51
//   - f32[256]=uniform:52:-70000:70000
//   - f64[256]=bits:53
//   - out:u32[256x24]
extern "C" __global__ void conversions(const float* p, const float* q, const double* r, unsigned* out) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const float a = p[i], b = q[i];
  const double d = r[i];
  unsigned* o = out + 24 * i;
  o[0] = (unsigned)__float2int_rn(a);
  o[1] = (unsigned)__float2int_rz(b);
  o[2] = (unsigned)__float2int_ru(b);
  o[3] = (unsigned)__float2int_rd(b);
  o[4] = __float2uint_rn(a);
  o[5] = __float2uint_rz(b);
  o[6] = (unsigned)__float2ll_rn(a);
  o[7] = (unsigned)(__float2ull_rz(b) >> 4);
  o[8] = __float_as_uint(__int2float_rn((int)__float_as_uint(a)));
  o[9] = __float_as_uint(__int2float_rz((int)__float_as_uint(a)));
  o[10] = __float_as_uint(__uint2float_ru(__float_as_uint(a)));
  o[11] = __float_as_uint(__ll2float_rn((long long)__double_as_longlong(d)));
  o[12] = (unsigned)__double2int_rn(d);
  o[13] = __float_as_uint(__double2float_rn(d));
  o[14] = __float_as_uint(__double2float_rz(d));
  o[15] = (unsigned)(__double_as_longlong(__ll2double_rn(__double_as_longlong(d))) >> 32);
  unsigned short h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(b));
  o[16] = h;
  asm("cvt.rz.f16.f32 %0, %1;" : "=h"(h) : "f"(b));
  o[17] = h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(a));
  o[18] = h;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(o[19]) : "f"(a), "f"(b));
  asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(o[20]) : "f"(a), "f"(b));
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(o[21]) : "f"(a));
  asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(o[22]) : "f"(b * 0.004f));
  asm("{ .reg .b16 x; cvt.rni.sat.u16.f32 x, %1; cvt.u32.u16 %0, x; }" : "=r"(o[23]) : "f"(b));
}
