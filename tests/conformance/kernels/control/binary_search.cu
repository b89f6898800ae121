// class: divergence
// about: lower bounds of keys in a sorted table
// grid: [2]
// block: [128]
// args:
//   - f32[256]=uniform:40:0:1000
//   - out:u32[256]
extern "C" __global__ void binary_search(const float* keys, unsigned* out) {
  __shared__ float table[200];
  for (int i = threadIdx.x; i < 200; i += 128) table[i] = i * 5 + (i % 3);
  __syncthreads();
  const int i = blockIdx.x * 128 + threadIdx.x;
  const float key = keys[i];
  int low = 0, high = 200;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (table[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  out[i] = low;
}
