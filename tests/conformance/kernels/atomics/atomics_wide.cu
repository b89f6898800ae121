// class: atomics
// about: 64-bit atomics in shared and global memory
// grid: [2]
// block: [96]
// args:
//   - u64[192]=bits:32
//   - inout:u64[6]=zeros
extern "C" __global__ void atomics_wide(const unsigned long long* in, unsigned long long* out) {
  __shared__ unsigned long long sum, least;
  if (threadIdx.x == 0) {
    sum = 0;
    least = ~0ull;
  }
  __syncthreads();
  const unsigned long long x = in[blockIdx.x * 96 + threadIdx.x];
  atomicAdd(&sum, x);
  atomicMin(&least, x);
  atomicXor(&out[2], x);
  atomicOr(&out[3], x & 0xff00ff00ff00ull);
  atomicMax((long long*)&out[4], (long long)x);
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&out[0], sum);
    atomicMax(&out[1], ~least);
    unsigned long long old = atomicAdd(&out[5], 0ull), seen;
    do {
      seen = old;
      old = atomicCAS(&out[5], seen, seen + (sum & 0xffff));
    } while (old != seen);
  }
}
