// class: race
// about: reads what another warp writes without a barrier between
// grid: [1]
// block: [64]
// args:
//   - u32[64]=iota
//   - out:u32[64]
// fault: race
// checkers: racecheck
extern "C" __global__ void missing_barrier_raw(const unsigned* in, unsigned* out) {
  __shared__ unsigned tile[64];
  const int t = threadIdx.x;
  tile[t] = in[t];
#ifndef FAULT
  __syncthreads();
#endif
  out[t] = tile[63 - t];
}
