// class: race
// about: the taker waits at another named barrier than the maker arrives at
// grid: [1]
// block: [64]
// args:
//   - u32[32]=iota
//   - out:u32[32]
// fault: race
// checkers: racecheck
extern "C" __global__ void named_barrier_id(const unsigned* in, unsigned* out) {
  __shared__ unsigned slot[32];
  const int t = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    slot[t] = in[t];
    __threadfence_block();
    asm volatile("bar.arrive 1, 64;" ::: "memory");
  } else {
#ifdef FAULT
    asm volatile("bar.sync 2, 32;" ::: "memory");
#else
    asm volatile("bar.sync 1, 64;" ::: "memory");
#endif
    out[t] = slot[31 - t];
  }
}
