// class: race
// about: a bulk copy reads in global memory what threads wrote a moment before
// arch: sm_90
// grid: [1]
// block: [64]
// args:
//   - u32[64]=iota
//   - inout:u32[64]=zeros
//   - out:u32[64]
// fault: race
// checkers: none
extern "C" __global__ void global_no_proxy_fence(const unsigned* in, unsigned* work, unsigned* out) {
  __shared__ __align__(128) unsigned tile[64];
  __shared__ __align__(8) unsigned long long full;
  const auto init = [](unsigned bar) { asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory"); };
  const auto load = [](unsigned to, const void* from, unsigned bytes, unsigned bar) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(bytes), "r"(bar) : "memory");
  };
  const auto wait = [](unsigned bar) {
    unsigned done = 0;
    while (!done)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done) : "r"(bar) : "memory");
  };
  const unsigned bar = (unsigned)__cvta_generic_to_shared(&full), place = (unsigned)__cvta_generic_to_shared(tile);
  const int t = threadIdx.x;
  if (t == 0) {
    init(bar);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  work[t] = in[t] * 3;
#ifdef FAULT
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#else
  asm volatile("fence.proxy.async.global;" ::: "memory");
#endif
  __syncthreads();
  if (t == 0) load(place, work, 256, bar);
  wait(bar);
  out[t] = tile[63 - t];
}
