// class: arithmetic
// about: counts, finds, reversals, fields, permutations and funnel shifts of bits
// grid: [2]
// block: [128]
// args:
//   - u32[256]=bits:42
//   - u32[256]=bits:43
//   - out:u32[256x16]
extern "C" __global__ void bits(const unsigned* p, const unsigned* q, unsigned* out) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const unsigned a = p[i], b = q[i];
  unsigned* o = out + 16 * i;
  o[0] = __popc(a);
  o[1] = __clz(a >> (b & 31));
  o[2] = __brev(a);
  o[3] = __ffs(a << (b & 31));
  o[4] = __byte_perm(a, b, b >> 8);
  o[5] = __funnelshift_l(a, b, b >> 3);
  o[6] = __funnelshift_rc(a, b, b & 63);
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(o[7]) : "r"(a), "r"(b & 63), "r"(b >> 8 & 63));
  asm("bfe.s32 %0, %1, %2, %3;" : "=r"(o[8]) : "r"(a), "r"(b & 63), "r"(b >> 8 & 63));
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(o[9]) : "r"(a), "r"(b), "r"(b & 63), "r"(a & 63));
  asm("bfind.u32 %0, %1;" : "=r"(o[10]) : "r"(a >> (b & 31)));
  asm("bfind.shiftamt.s32 %0, %1;" : "=r"(o[11]) : "r"(a));
  asm("fns.b32 %0, %1, %2, %3;" : "=r"(o[12]) : "r"(a), "r"(b & 31), "r"((int)(b >> 5 & 7) - 3));
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(o[13]) : "r"(a), "r"(b), "r"(a ^ 0x55555555u));
  o[14] = (unsigned)__popcll((unsigned long long)a << 32 | b) ^ (unsigned)__clzll((unsigned long long)a >> (b & 31)) << 8;
  asm("{ .reg .b32 x; shr.u32 x, %1, %2; shl.b32 %0, %2, %1; or.b32 %0, %0, x; }" : "=r"(o[15]) : "r"(a), "r"(b & 63));
}
