// class: deadlock
// about: warpgroups ask for more registers than the block began with
// arch: sm_90a
// grid: [1]
// block: [384]
// args:
//   - u32[384]=iota
//   - out:u32[384]
// fault: deadlock
// checkers: none
extern "C" __global__ void __launch_bounds__(384, 1) registers_beyond(const unsigned* in, unsigned* out) {
  const int t = threadIdx.x;
  if (t < 128) {
#ifdef FAULT
    asm volatile("setmaxnreg.dec.sync.aligned.u32 80;");
#else
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
#endif
    out[t] = in[t];
    // Nothing goes back to the pool before the others have come.
    asm volatile("bar.sync 1, 384;" ::: "memory");
  } else {
#ifdef FAULT
    asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
#else
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
#endif
    out[t] = in[t] * 3;
    asm volatile("bar.sync 1, 384;" ::: "memory");
  }
}
