// class: out_of_bounds
// about: the grid is rounded up and the last block does not look
// grid: [4]
// block: [64]
// args:
//   - inout:f32[200]=normal:1
//   - i32=200
// fault: out_of_bounds
// checkers: memcheck
extern "C" __global__ void global_tail(float* data, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
#ifndef FAULT
  if (i < n)
#endif
    data[i] = 2 * data[i];
}
