// class: atomics
// about: the place of the largest value, by a 64-bit atomic maximum
// grid: [8]
// block: [128]
// args:
//   - u32[1024]=bits:4
//   - inout:u64[1]=zeros
extern "C" __global__ void reduce_argmax(const unsigned* in, unsigned long long* best) {
  const unsigned i = blockIdx.x * 128 + threadIdx.x;
  atomicMax(best, (unsigned long long)in[i] << 32 | i);
}
