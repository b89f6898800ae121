// class: race
// about: a shuffle stands where lanes of one warp should meet, but it orders no memory
// grid: [1]
// block: [32]
// args:
//   - u32[32]=iota
//   - out:u32[32]
// fault: race
// checkers: racecheck
extern "C" __global__ void shuffle_is_no_barrier(const unsigned* in, unsigned* out) {
  __shared__ unsigned tile[32];
  const int t = threadIdx.x;
  tile[t] = in[t] * 3;
  const unsigned across = __shfl_xor_sync(0xffffffffu, t, 31);
#ifndef FAULT
  __syncwarp();
#endif
  out[t] = tile[across];
}
