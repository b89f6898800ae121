// Kernels of the same kinds as published ones that no space here has, for tools/bench/emulator/clock/published
// to predict. Each space beside this file has one of them, and says whose figures it stands beside.

// What a space does not set, or its reference.
#ifndef KIND
#define KIND 3
#endif
#ifndef TILE
#define TILE 16
#endif
#ifndef BLOCK_X
#define BLOCK_X 16
#define BLOCK_Y 16
#define TILE_X 1
#define TILE_Y 1
#endif

extern __shared__ double unused[];  // leaves room for two blocks an SM

// One element a thread. KIND: 1 writes, 2 reads, 3 reads and writes, 4 reads two and writes.
__global__ void stream(double* a, const double* b, const double* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (KIND == 1) a[i] = 0.25;
  if (KIND == 2 && b[i] == 123.0) a[i] = unused[threadIdx.x];  // never: so that it only reads
  if (KIND == 3) a[i] = b[i] * 1.25;
  if (KIND == 4) a[i] = b[i] * 1.25 + c[i];
}

// Four elements a thread.
__global__ void add(const float4* x, const float4* y, float4* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n / 4) return;
  float4 p = x[i], q = y[i];
  z[i] = make_float4(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
}

// A thread for each element of a tile of TILE x TILE; n is a multiple of TILE.
__global__ void sgemm(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
  int x = threadIdx.x, y = threadIdx.y;
  int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
  float sum = 0;
  for (int k = 0; k < n; k += TILE) {
    tile_a[y][x] = a[row * n + k + x];
    tile_b[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < TILE; ++i) sum += tile_a[y][i] * tile_b[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

__constant__ float filter[15 * 15];

// The image's part that a block needs lies in shared memory, the filter in constant memory. A
// thread has TILE_X x TILE_Y outputs, BLOCK_X and BLOCK_Y apart.
__global__ void convolution(const float* image, float* out, int width, int height) {
  constexpr int columns = BLOCK_X * TILE_X + 14, rows = BLOCK_Y * TILE_Y + 14;
  __shared__ float part[rows][columns];
  int left = blockIdx.x * BLOCK_X * TILE_X, top = blockIdx.y * BLOCK_Y * TILE_Y;
  for (int y = threadIdx.y; y < rows; y += BLOCK_Y)
    for (int x = threadIdx.x; x < columns; x += BLOCK_X)
      if (top + y < height + 14 && left + x < width + 14)
        part[y][x] = image[(top + y) * (width + 14) + left + x];
  __syncthreads();

  float sum[TILE_Y][TILE_X] = {};
#pragma unroll
  for (int i = 0; i < 15; ++i)
#pragma unroll
    for (int j = 0; j < 15; ++j)
#pragma unroll
      for (int ty = 0; ty < TILE_Y; ++ty)
#pragma unroll
        for (int tx = 0; tx < TILE_X; ++tx)
          sum[ty][tx] += part[threadIdx.y + ty * BLOCK_Y + i][threadIdx.x + tx * BLOCK_X + j] *
                         filter[i * 15 + j];

  for (int ty = 0; ty < TILE_Y; ++ty)
    for (int tx = 0; tx < TILE_X; ++tx) {
      int x = left + threadIdx.x + tx * BLOCK_X, y = top + threadIdx.y + ty * BLOCK_Y;
      if (x < width && y < height) out[y * width + x] = sum[ty][tx];
    }
}
