// class: race
// about: one lane fences and announces what all lanes of its warp wrote, and they have not met
// grid: [4]
// block: [32]
// args:
//   - u32[128]=iota
//   - inout:u32[128]=zeros
//   - inout:u32[1]=zeros
//   - out:u32[32]
// fault: race
// checkers: none
extern "C" __global__ void flag_of_one_lane(const unsigned* in, unsigned* results, unsigned* done, unsigned* out) {
  const int t = threadIdx.x;
  unsigned seen = 0;
  results[blockIdx.x * 32 + t] = in[blockIdx.x * 32 + t] * 3;
#ifndef FAULT
  __syncwarp();
#endif
  if (t == 0) {
    __threadfence();
    seen = atomicAdd(done, 1);
    __threadfence();
  }
  seen = __shfl_sync(0xffffffffu, seen, 0);
  __syncwarp();
  if (seen != gridDim.x - 1) return;
  unsigned sum = 0;
  for (int b = 0; b < gridDim.x; ++b) sum += results[b * 32 + t];
  out[t] = sum;
}
