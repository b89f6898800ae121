// class: atomics
// about: lanes with equal keys found by match, one of them adds for all
// grid: [4]
// block: [128]
// args:
//   - u32[512]=integers:18:0:15
//   - inout:u32[16]=zeros
//   - out:u32[512]
extern "C" __global__ void histogram_match(const unsigned* in, unsigned* counts, unsigned* peers) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const unsigned same = __match_any_sync(0xffffffffu, in[i]);
  if (__ffs(same) - 1 == threadIdx.x % 32) atomicAdd(&counts[in[i]], __popc(same));
  int all;
  const unsigned everyone = __match_all_sync(0xffffffffu, in[i] & 16, &all);
  peers[i] = same ^ everyone ^ (unsigned)all;
}
