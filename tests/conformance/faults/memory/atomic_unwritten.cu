// class: uninitialized
// about: counts into a counter that nobody has set to zero
// grid: [1]
// block: [64]
// args:
//   - u32[64]=iota
//   - out:u32[1]
// fault: uninitialized
// checkers: initcheck
extern "C" __global__ void atomic_unwritten(const unsigned* in, unsigned* count) {
#ifndef FAULT
  if (threadIdx.x == 0) *count = 0;
  __syncthreads();
#endif
  if (in[threadIdx.x] % 3 == 0) atomicAdd(count, 1);
}
