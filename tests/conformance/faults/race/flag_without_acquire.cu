// class: race
// about: the last block reads what others announced without a fence after it saw that
// grid: [4]
// block: [64]
// args:
//   - u32[256]=iota
//   - inout:u32[4]=zeros
//   - inout:u32[1]=zeros
//   - out:u32[4]
// fault: race
// checkers: none
extern "C" __global__ void flag_without_acquire(const unsigned* in, unsigned* results, unsigned* done, unsigned* out) {
  __shared__ bool last;
  const int t = threadIdx.x;
  if (t == 0) {
    unsigned sum = 0;
    for (int i = 0; i < 64; ++i) sum += in[blockIdx.x * 64 + i];
    results[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(done, 1) == gridDim.x - 1;
#ifndef FAULT
    __threadfence();
#endif
  }
  __syncthreads();
  if (last && t < 4) out[t] = __ldcg(results + t);
}
