// class: stencil
// about: Conway's life, a row of 32 cells a word, 16 generations
// grid: [1]
// block: [32]
// args:
//   - u32[32]=bits:23
//   - out:u32[32]
extern "C" __global__ void life(const unsigned* in, unsigned* out) {
  const int t = threadIdx.x;
  unsigned row = in[t];
  for (int step = 0; step < 16; ++step) {
    const unsigned up = __shfl_sync(0xffffffffu, row, t + 31), down = __shfl_sync(0xffffffffu, row, t + 1);
    const unsigned n[8] = {up, down, __funnelshift_l(up, up, 1), __funnelshift_r(up, up, 1),
                           __funnelshift_l(down, down, 1), __funnelshift_r(down, down, 1),
                           __funnelshift_l(row, row, 1), __funnelshift_r(row, row, 1)};
    unsigned ones = 0, twos = 0, fours = 0;
    for (int k = 0; k < 8; ++k) {
      const unsigned carry = ones & n[k];
      ones ^= n[k];
      fours |= twos & carry;
      twos ^= carry;
    }
    row = twos & ~fours & (ones | row);
  }
  out[t] = row;
}
