// class: warp
// about: votes, masks and shuffles of every kind, also in part of a warp
// grid: [1]
// block: [64]
// args:
//   - u32[64]=bits:38
//   - out:u32[512]
extern "C" __global__ void warp_votes(const unsigned* in, unsigned* out) {
  const unsigned t = threadIdx.x, all = 0xffffffffu;
  const unsigned x = in[t];
  unsigned* o = out + 8 * t;
  o[0] = __ballot_sync(all, x & 1);
  o[1] = __any_sync(all, x == 0) | __all_sync(all, x != 0) << 1;
  o[2] = __shfl_sync(all, x, t * 7, 8);
  o[3] = __shfl_up_sync(all, x, 3, 16);
  o[4] = __shfl_down_sync(all, x, 5, 4);
  o[5] = __shfl_xor_sync(all, x, 9);
  unsigned part;
  if (x & 4) {
    part = __activemask();
    part ^= __shfl_sync(part, x, __ffs(part) - 1);
  } else {
    part = __popc(__activemask());
  }
  o[6] = part;
  unsigned less;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(less));
  o[7] = less ^ (unsigned)__shfl_xor_sync(all, (unsigned long long)x << 20, 1);
}
