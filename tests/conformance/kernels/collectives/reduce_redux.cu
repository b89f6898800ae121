// class: reduction
// about: redux.sync of every kind, over parts of a warp too
// grid: [4]
// block: [64]
// args:
//   - u32[256]=bits:3
//   - out:u32[2048]
extern "C" __global__ void reduce_redux(const unsigned* in, unsigned* out) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  const unsigned x = in[i];
  unsigned* o = out + 8 * i;
  const unsigned all = 0xffffffffu;
  o[0] = __reduce_add_sync(all, x);
  o[1] = __reduce_min_sync(all, x);
  o[2] = __reduce_max_sync(all, x);
  o[3] = __reduce_and_sync(all, x | 0xf00fu);
  o[4] = __reduce_or_sync(all, x & 0x00f0u);
  o[5] = __reduce_xor_sync(all, x);
  o[6] = (unsigned)__reduce_min_sync(all, (int)x);
  const unsigned odd = threadIdx.x & 1 ? 0xaaaaaaaau : 0x55555555u;
  o[7] = (unsigned)__reduce_max_sync(odd, (int)x);
}
