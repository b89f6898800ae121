// class: race
// about: the proxy fence before a bulk store of shared memory is of global memory
// arch: sm_90
// grid: [1]
// block: [64]
// args:
//   - u32[64]=iota
//   - out:u32[64]
// fault: race
// checkers: none
extern "C" __global__ void proxy_fence_space(const unsigned* in, unsigned* out) {
  __shared__ __align__(16) unsigned tile[64];
  const int t = threadIdx.x;
  tile[t] = in[t];
#ifdef FAULT
  asm volatile("fence.proxy.async.global;" ::: "memory");
#else
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::"l"(out), "r"((unsigned)__cvta_generic_to_shared(tile)) : "memory");
  }
}
