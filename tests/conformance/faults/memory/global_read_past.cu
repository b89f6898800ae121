// class: out_of_bounds
// about: reads one element past the end of a buffer
// grid: [2]
// block: [64]
// args:
//   - u32[128]=iota
//   - out:u32[128]
// fault: out_of_bounds
// checkers: memcheck
extern "C" __global__ void global_read_past(const unsigned* in, unsigned* out) {
  const int i = blockIdx.x * 64 + threadIdx.x;
#ifdef FAULT
  const int next = i + 1;
#else
  const int next = (i + 1) % 128;
#endif
  out[i] = in[i] + in[next];
}
