// class: race
// about: two buffers, but the barrier before a buffer is filled again is missing
// grid: [1]
// block: [64]
// args:
//   - f32[1024]=normal:12
//   - out:f32[64]
// fault: race
// checkers: racecheck
extern "C" __global__ void double_buffer(const float* in, float* out) {
  __shared__ __align__(16) float tile[2][256];
  const int t = threadIdx.x;
  const auto copy = [](void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\ncp.async.commit_group;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
  };
  float sum = 0;
  copy(tile[0] + 4 * t, in + 4 * t);
  for (int k = 0; k < 4; ++k) {
    if (k + 1 < 4) {
      copy(tile[(k + 1) % 2] + 4 * t, in + 256 * (k + 1) + 4 * t);
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    sum += tile[k % 2][255 - t] * (k + 1);
#ifndef FAULT
    __syncthreads();
#endif
  }
  out[t] = sum;
}
