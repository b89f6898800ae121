// class: scan
// about: exclusive sums, up and down a tree in shared memory
// grid: [3]
// block: [256]
// args:
//   - u32[1536]=bits:8
//   - out:u32[1536]
extern "C" __global__ void scan_blelloch(const unsigned* in, unsigned* out) {
  __shared__ unsigned tree[512];
  const int t = threadIdx.x;
  in += blockIdx.x * 512;
  out += blockIdx.x * 512;
  tree[2 * t] = in[2 * t];
  tree[2 * t + 1] = in[2 * t + 1];
  int offset = 1;
  for (int d = 256; d > 0; d /= 2) {
    __syncthreads();
    if (t < d) tree[offset * (2 * t + 2) - 1] += tree[offset * (2 * t + 1) - 1];
    offset *= 2;
  }
  if (t == 0) tree[511] = 0;
  for (int d = 1; d < 512; d *= 2) {
    offset /= 2;
    __syncthreads();
    if (t < d) {
      const int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
      const unsigned x = tree[a];
      tree[a] = tree[b];
      tree[b] += x;
    }
  }
  __syncthreads();
  out[2 * t] = tree[2 * t];
  out[2 * t + 1] = tree[2 * t + 1];
}
