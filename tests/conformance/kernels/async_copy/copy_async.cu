// class: pipeline
// about: cp.async of 4, 8 and 16 bytes, with fewer bytes read than written, and groups
// grid: [2]
// block: [64]
// args:
//   - u32[512]=bits:69
//   - out:u32[2x64x4]
extern "C" __global__ void copy_async(const unsigned* in, unsigned* out) {
  __shared__ __align__(16) unsigned s[64][4];
  const int t = threadIdx.x;
  in += blockIdx.x * 256;
  const unsigned to = (unsigned)__cvta_generic_to_shared(&s[t][0]);
  if (t < 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(in + 4 * t), "r"(t) : "memory");
  } else if (t < 32) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to), "l"(in + 4 * t) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, 4;" ::"r"(to + 8), "l"(in + 4 * t + 2) : "memory");
  } else {
    for (int i = 0; i < 4; ++i)
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to + 4 * i), "l"(in + 4 * t + i), "r"(i) : "memory");
  }
  asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  const int from = (t * 37 + 5) % 64;
  for (int i = 0; i < 4; ++i) out[(blockIdx.x * 64 + t) * 4 + i] = s[from][i];
}
