// class: race
// about: a block announces a bulk store that has only read its source
// arch: sm_90
// grid: [4]
// block: [32]
// args:
//   - u32[128]=iota
//   - inout:u32[128]=zeros
//   - inout:u32[1]=zeros
//   - out:u32[32]
// fault: race
// checkers: none
extern "C" __global__ void bulk_store_announced(const unsigned* in, unsigned* results, unsigned* done, unsigned* out) {
  __shared__ __align__(16) unsigned tile[32];
  const int t = threadIdx.x;
  unsigned seen = 0;
  tile[t] = in[blockIdx.x * 32 + t] * 3;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncwarp();
  if (t == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;\ncp.async.bulk.commit_group;" ::"l"(results + blockIdx.x * 32), "r"((unsigned)__cvta_generic_to_shared(tile)) : "memory");
#ifdef FAULT
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#else
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
    __threadfence();
    seen = atomicAdd(done, 1);
    __threadfence();
  }
  seen = __shfl_sync(0xffffffffu, seen, 0);
  __syncwarp();
  if (seen != gridDim.x - 1) return;
  unsigned sum = 0;
  for (int b = 0; b < gridDim.x; ++b) sum += results[b * 32 + t];
  out[t] = sum;
}
