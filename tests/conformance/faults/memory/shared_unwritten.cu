// class: uninitialized
// about: reads places of shared memory that no thread has written
// grid: [1]
// block: [64]
// args:
//   - u32[64]=iota
//   - out:u32[64]
// fault: uninitialized
// checkers: initcheck
extern "C" __global__ void shared_unwritten(const unsigned* in, unsigned* out) {
  __shared__ unsigned tile[66];
  const int t = threadIdx.x;
  tile[t + 1] = in[t];
#ifndef FAULT
  if (t < 2) tile[t * 65] = 0;
#endif
  __syncthreads();
  out[t] = tile[t] + tile[t + 1] + tile[t + 2];
}
