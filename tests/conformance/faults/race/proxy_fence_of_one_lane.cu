// class: race
// about: one lane fences and stores what all lanes of its warp wrote, and they have not met
// arch: sm_90
// grid: [1]
// block: [32]
// args:
//   - u32[32]=iota
//   - out:u32[32]
// fault: race
// checkers: none
extern "C" __global__ void proxy_fence_of_one_lane(const unsigned* in, unsigned* out) {
  __shared__ __align__(16) unsigned tile[32];
  const int t = threadIdx.x;
  tile[t] = in[t];
#ifndef FAULT
  __syncwarp();
#endif
  if (t == 0) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::"l"(out), "r"((unsigned)__cvta_generic_to_shared(tile)) : "memory");
  }
}
