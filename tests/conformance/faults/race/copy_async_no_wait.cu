// class: race
// about: reads the target of a cp.async before it has waited for the copy
// grid: [1]
// block: [64]
// args:
//   - f32[256]=normal:9
//   - out:f32[64]
// fault: race
// checkers: racecheck
extern "C" __global__ void copy_async_no_wait(const float* in, float* out) {
  __shared__ __align__(16) float tile[256];
  const int t = threadIdx.x;
  const auto copy = [](void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\ncp.async.commit_group;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
  };
  copy(tile + 4 * t, in + 4 * t);
#ifndef FAULT
  asm volatile("cp.async.wait_group 0;" ::: "memory");
#endif
  __syncthreads();
  out[t] = tile[255 - t];
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}
