// class: race
// about: a reduction whose steps no barrier parts
// grid: [1]
// block: [128]
// args:
//   - i32[128]=iota
//   - out:i32[1]
// fault: race
// checkers: racecheck
extern "C" __global__ void missing_barrier_tree(const int* in, int* out) {
  __shared__ int part[128];
  const int t = threadIdx.x;
  part[t] = in[t];
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
#ifndef FAULT
    __syncthreads();
#endif
  }
  if (t == 0) *out = part[0];
}
