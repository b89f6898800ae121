// class: divergence
// about: eight queens counted with a stack in local memory
// grid: [1]
// block: [64]
// args:
//   - out:u32[64]
extern "C" __global__ void queens(unsigned* out) {
  const int first = threadIdx.x / 8, second = threadIdx.x % 8;
  unsigned columns[9], left[9], right[9], choices[9];
  unsigned count = 0;
  const unsigned a = 1u << first, b = 1u << second;
  if (a != b && a << 1 != b && a >> 1 != b) {
    int depth = 2;
    columns[2] = a | b;
    left[2] = (a << 1 | b) << 1;
    right[2] = (a >> 1 | b) >> 1;
    choices[2] = 255 & ~(columns[2] | left[2] | right[2]);
    while (depth >= 2) {
      if (choices[depth] == 0) {
        --depth;
        continue;
      }
      const unsigned bit = choices[depth] & -choices[depth];
      choices[depth] ^= bit;
      if (depth == 7) {
        ++count;
        continue;
      }
      columns[depth + 1] = columns[depth] | bit;
      left[depth + 1] = (left[depth] | bit) << 1;
      right[depth + 1] = (right[depth] | bit) >> 1;
      ++depth;
      choices[depth] = 255 & ~(columns[depth] | left[depth] | right[depth]);
    }
  }
  out[threadIdx.x] = count;
}
