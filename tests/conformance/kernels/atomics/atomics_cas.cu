// class: atomics
// about: a maximum of floats by compare-and-swap, and a lock
// grid: [4]
// block: [64]
// args:
//   - f32[256]=normal:31
//   - inout:u32[3]=zeros
__device__ float as_float(unsigned x) { return __uint_as_float(x); }

extern "C" __global__ void atomics_cas(const float* in, unsigned* out) {
  const float x = in[blockIdx.x * 64 + threadIdx.x];
  unsigned seen = *(volatile unsigned*)&out[0];
  while (as_float(seen) < x) {
    const unsigned before = atomicCAS(&out[0], seen, __float_as_uint(x));
    if (before == seen) break;
    seen = before;
  }
  if (threadIdx.x == 0) {
    while (atomicCAS(&out[1], 0, 1) != 0) {
    }
    __threadfence();
    *(volatile unsigned*)&out[2] = *(volatile unsigned*)&out[2] + blockIdx.x + 1;
    __threadfence();
    atomicExch(&out[1], 0);
  }
}
