// class: divergence
// about: loops of as many rounds as each lane needs
// grid: [4]
// block: [64]
// args:
//   - out:u32[256]
extern "C" __global__ void collatz(unsigned* out) {
  const unsigned i = blockIdx.x * 64 + threadIdx.x;
  unsigned long long x = i + 1;
  unsigned steps = 0;
  while (x != 1) {
    x = x & 1 ? 3 * x + 1 : x / 2;
    ++steps;
  }
  out[i] = steps;
}
