// class: out_of_bounds
// about: goes through a pointer that is null
// grid: [1]
// block: [64]
// args:
//   - u64=0
//   - u32[64]=iota
//   - out:u32[64]
// fault: out_of_bounds
// checkers: memcheck
extern "C" __global__ void null_pointer(const unsigned* maybe, const unsigned* in, unsigned* out) {
#ifdef FAULT
  const unsigned* from = maybe;
#else
  const unsigned* from = maybe == nullptr ? in : maybe;
#endif
  out[threadIdx.x] = from[threadIdx.x];
}
