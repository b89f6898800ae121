// class: uninitialized
// about: sums one element more of a local array than it filled
// grid: [1]
// block: [64]
// args:
//   - u32[64]=iota
//   - out:u32[64]
// fault: uninitialized
// checkers: initcheck
extern "C" __global__ void local_unwritten(const unsigned* in, unsigned* out) {
  unsigned list[40];
  const unsigned n = in[threadIdx.x] % 32;
  for (unsigned i = 0; i < n; ++i) list[in[i] % 40] = i * n;
#ifdef FAULT
  const unsigned end = n + 1;
#else
  const unsigned end = n;
#endif
  unsigned sum = 0;
  for (unsigned i = 0; i < end; ++i) sum = sum * 3 + list[in[i] % 40];
  out[threadIdx.x] = sum;
}
