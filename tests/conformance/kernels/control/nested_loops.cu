// class: divergence
// about: loops in loops with breaks and continues that differ by lane
// grid: [1]
// block: [128]
// args:
//   - out:u32[128]
extern "C" __global__ void nested_loops(unsigned* out) {
  const unsigned t = threadIdx.x;
  unsigned h = t;
  for (unsigned i = 0; i < 10; ++i) {
    if ((h >> i & 3) == 1) continue;
    for (unsigned j = i; j < t; j += 1 + (h & 7)) {
      h = h * 1664525u + 1013904223u;
      if (h % 11 == 0) break;
      if (h % 5 == 0) continue;
      h ^= j;
    }
    if (h % 29 == 3) break;
  }
  out[t] = h;
}
