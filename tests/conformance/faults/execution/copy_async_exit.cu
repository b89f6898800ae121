// class: sync
// about: a thread leaves while its copy is under way
// grid: [1]
// block: [64]
// args:
//   - f32[256]=normal:13
//   - out:f32[64]
// fault: sync
// checkers: none
extern "C" __global__ void copy_async_exit(const float* in, float* out) {
  __shared__ __align__(16) float tile[256];
  const int t = threadIdx.x;
  const auto copy = [](void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\ncp.async.commit_group;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
  };
  copy(tile + 4 * t, in + 4 * t);
  out[t] = in[t];
#ifndef FAULT
  asm volatile("cp.async.wait_group 0;" ::: "memory");
#endif
}
