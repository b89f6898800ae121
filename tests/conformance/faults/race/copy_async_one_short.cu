// class: race
// about: waits for all but the newest group, and reads that too
// grid: [1]
// block: [64]
// args:
//   - f32[512]=normal:10
//   - out:f32[64]
// fault: race
// checkers: racecheck
extern "C" __global__ void copy_async_one_short(const float* in, float* out) {
  __shared__ __align__(16) float tile[2][256];
  const int t = threadIdx.x;
  const auto copy = [](void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\ncp.async.commit_group;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
  };
  copy(tile[0] + 4 * t, in + 4 * t);
  copy(tile[1] + 4 * t, in + 256 + 4 * t);
#ifdef FAULT
  asm volatile("cp.async.wait_group 1;" ::: "memory");
#else
  asm volatile("cp.async.wait_group 0;" ::: "memory");
#endif
  __syncthreads();
  out[t] = tile[0][255 - t] + tile[1][t * 3];
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}
