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
  const auto init = [](unsigned bar, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
  };
  const auto wait = [](unsigned bar, unsigned parity) {
    unsigned done = 0;
    while (!done)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done) : "r"(bar), "r"(parity) : "memory");
  };
  const auto expect = [](unsigned bar, unsigned bytes) {
    asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared::cta.b64 s, [%0], %1; }" ::"r"(bar), "r"(bytes) : "memory");
  };
  const auto bulk = [](unsigned to, const void* from, unsigned bytes, unsigned bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(bytes), "r"(bar) : "memory");
  };
  const unsigned f = (unsigned)__cvta_generic_to_shared(&full);
  const int t = threadIdx.x;
  if (t == 0) {
    init(f, 1);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (t == 0) {
    expect(f, 512);
    bulk((unsigned)__cvta_generic_to_shared(tile), in, 512, f);
  }
  out[t] = in[t];
#ifndef FAULT
  wait(f, 0);
#endif
}
