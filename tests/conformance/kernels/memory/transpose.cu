// class: memory
// about: a transposed matrix through padded shared memory
// grid: [2, 2]
// block: [32, 8]
// args:
//   - u16[64x64]=bits:24
//   - out:u16[64x64]
extern "C" __global__ void transpose(const unsigned short* in, unsigned short* out) {
  __shared__ unsigned short tile[32][33];
  const int x = blockIdx.x * 32, y = blockIdx.y * 32;
  for (int j = threadIdx.y; j < 32; j += 8) tile[j][threadIdx.x] = in[(y + j) * 64 + x + threadIdx.x];
  __syncthreads();
  for (int j = threadIdx.y; j < 32; j += 8) out[(x + j) * 64 + y + threadIdx.x] = tile[threadIdx.x][j];
}
