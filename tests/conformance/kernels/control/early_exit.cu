// class: divergence
// about: threads that leave before the others meet at barriers
// grid: [2]
// block: [128]
// args:
//   - u32[256]=bits:39
//   - inout:u32[256]=zeros
extern "C" __global__ void early_exit(const unsigned* in, unsigned* out) {
  __shared__ unsigned s[128];
  const unsigned t = threadIdx.x, i = blockIdx.x * 128 + t;
  s[t] = in[i];
  __syncthreads();
  if (t >= 96) return;
  if (t % 32 == 5 && s[t] % 2 == 0) {
    out[i] = 1;
    return;
  }
  const unsigned next = s[(t + 1) % 128];
  out[i] = next ^ s[t];
}
