// class: out_of_bounds
// about: a cp.async whose source lies past the end of its buffer
// grid: [1]
// block: [64]
// args:
//   - f32[256]=normal:3
//   - out:f32[64]
// fault: out_of_bounds
// checkers: memcheck
extern "C" __global__ void copy_async_past(const float* in, float* out) {
  __shared__ __align__(16) float tile[256];
  const int t = threadIdx.x;
#ifdef FAULT
  const int from = 4 * t + 4;
#else
  const int from = 4 * t;
#endif
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\ncp.async.commit_group;\ncp.async.wait_group 0;" ::"r"(
                   (unsigned)__cvta_generic_to_shared(tile + 4 * t)), "l"(in + from) : "memory");
  __syncthreads();
  out[t] = tile[255 - t];
}
