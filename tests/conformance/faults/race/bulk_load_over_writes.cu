// class: race
// about: a bulk copy overwrites what threads wrote, which no proxy fence has shown to it
// arch: sm_90
// grid: [1]
// block: [64]
// args:
//   - u32[64]=iota
//   - out:u32[64]
// fault: race
// checkers: none
extern "C" __global__ void bulk_load_over_writes(const unsigned* in, unsigned* out) {
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
  tile[t] = 5 * t;
  __syncthreads();
  const unsigned before = tile[63 - t];
#ifndef FAULT
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  __syncthreads();
  if (t == 0) load(place, in, 256, bar);
  wait(bar);
  out[t] = tile[63 - t] + before;
}
