// class: pipeline
// about: two warps make, two take, with named barriers of 128 threads
// grid: [2]
// block: [128]
// args:
//   - u32[1024]=bits:70
//   - out:u32[1024]
extern "C" __global__ void named_barriers(const unsigned* in, unsigned* out) {
  __shared__ unsigned slot[2][64];
  const int t = threadIdx.x;
  in += blockIdx.x * 512;
  out += blockIdx.x * 512;
  // Barrier 1 + s: slot s is full. Barrier 3 + s: it is empty.
  if (t < 64) {
    for (int k = 0; k < 8; ++k) {
      const int s = k % 2;
      if (k >= 2) asm volatile("bar.sync %0, 128;" ::"r"(3 + s) : "memory");
      slot[s][t] = in[k * 64 + t] * 3u;
      __threadfence_block();
      asm volatile("bar.arrive %0, 128;" ::"r"(1 + s) : "memory");
    }
  } else {
    for (int k = 0; k < 8; ++k) {
      const int s = k % 2;
      asm volatile("bar.sync %0, 128;" ::"r"(1 + s) : "memory");
      out[k * 64 + t - 64] = slot[s][127 - t] + k;
      if (k + 2 < 8) asm volatile("bar.arrive %0, 128;" ::"r"(3 + s) : "memory");
    }
  }
}
