// class: race
// about: lanes of one warp exchange by shared memory without meeting
// grid: [1]
// block: [32]
// args:
//   - u32[32]=iota
//   - out:u32[32]
// fault: race
// checkers: racecheck
extern "C" __global__ void missing_syncwarp(const unsigned* in, unsigned* out) {
  __shared__ unsigned tile[32];
  const int t = threadIdx.x;
  tile[t] = in[t] * 3;
#ifndef FAULT
  __syncwarp();
#endif
  out[t] = tile[31 - t];
}
