// class: bulk
// about: blocks add, or and take maxima of bulk pieces into global memory
// arch: sm_90
// grid: [4]
// block: [128]
// args:
//   - u32[512]=bits:81
//   - inout:u32[128]=iota
//   - inout:u32[128]=zeros
//   - inout:u32[128]=zeros
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void bulk_reduce(const unsigned* in, unsigned* sum, unsigned* most, unsigned* any) {
  __shared__ __align__(128) unsigned tile[128];
  const int t = threadIdx.x;
  tile[t] = in[128 * blockIdx.x + t];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    const unsigned from = shared_address(tile);
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 512;" ::"l"(sum), "r"(from) : "memory");
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32 [%0], [%1], 512;" ::"l"(most), "r"(from) : "memory");
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.or.b32 [%0], [%1], 512;" ::"l"(any), "r"(from) : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
}
