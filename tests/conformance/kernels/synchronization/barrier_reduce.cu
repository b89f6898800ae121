// class: warp
// about: barriers that count and vote
// grid: [2]
// block: [96]
// args:
//   - u32[192]=bits:71
//   - out:u32[192]
extern "C" __global__ void barrier_reduce(const unsigned* in, unsigned* out) {
  const int i = blockIdx.x * 96 + threadIdx.x;
  const unsigned x = in[i];
  const int count = __syncthreads_count(x & 1);
  const int all = __syncthreads_and((x & 0xff) != 0x77);
  const int any = __syncthreads_or(x == 0x12345678);
  out[i] = count * 4 + (all != 0) * 2 + (any != 0);
}
