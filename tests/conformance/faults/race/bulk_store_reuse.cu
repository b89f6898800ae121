// class: race
// about: shared memory is written again while a bulk store may still read it
// arch: sm_90
// grid: [1]
// block: [64]
// args:
//   - u32[128]=iota
//   - out:u32[128]
// fault: race
// checkers: racecheck
extern "C" __global__ void bulk_store_reuse(const unsigned* in, unsigned* out) {
  __shared__ __align__(16) unsigned tile[64];
  const int t = threadIdx.x;
  for (int k = 0; k < 2; ++k) {
    tile[t] = in[64 * k + t];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;\ncp.async.bulk.commit_group;" ::"l"(out + 64 * k), "r"((unsigned)__cvta_generic_to_shared(tile)) : "memory");
#ifndef FAULT
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
    }
    __syncthreads();
  }
  if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
