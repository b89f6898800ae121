// class: sync
// about: a block ends while a bulk copy may still be on its way to its shared memory
// arch: sm_90
// grid: [1]
// block: [64]
// args:
//   - u32[128]=iota
//   - out:u32[64]
// fault: sync
// checkers: none
extern "C" __global__ void bulk_load_exit(const unsigned* in, unsigned* out) {
  __shared__ __align__(16) unsigned tile[128];
  __shared__ __align__(8) unsigned long long full;
  const unsigned f = (unsigned)__cvta_generic_to_shared(&full);
  const int t = threadIdx.x;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(f) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared::cta.b64 s, [%0], 512; }" ::"r"(f) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];" ::"r"((unsigned)__cvta_generic_to_shared(tile)), "l"(in), "r"(f) : "memory");
  }
  __syncthreads();
  out[t] = in[t];
#ifndef FAULT
  unsigned done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(f) : "memory");
#endif
}
