// class: out_of_bounds
// about: counts into a histogram that is one place too small for its keys
// grid: [1]
// block: [64]
// args:
//   - u32[64]=integers:2:0:40
//   - inout:u32[16]=zeros
// fault: out_of_bounds
// checkers: memcheck
extern "C" __global__ void atomic_past(const unsigned* in, unsigned* counts) {
#ifdef FAULT
  const unsigned key = in[threadIdx.x];
#else
  const unsigned key = min(in[threadIdx.x], 15u);
#endif
  atomicAdd(&counts[key], 1);
}
