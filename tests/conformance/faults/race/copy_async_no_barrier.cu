// class: race
// about: each thread waits for its own copies, but reads those of others
// grid: [1]
// block: [64]
// args:
//   - f32[256]=normal:11
//   - out:f32[64]
// fault: race
// checkers: racecheck
extern "C" __global__ void copy_async_no_barrier(const float* in, float* out) {
  __shared__ __align__(16) float tile[256];
  const int t = threadIdx.x;
  const auto copy = [](void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\ncp.async.commit_group;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
  };
  copy(tile + 4 * t, in + 4 * t);
  asm volatile("cp.async.wait_group 0;" ::: "memory");
#ifndef FAULT
  __syncthreads();
#endif
  out[t] = tile[255 - t];
}
