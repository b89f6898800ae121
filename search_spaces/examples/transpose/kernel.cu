// A tile goes through shared memory, so that both sides are read and written along rows. Threads
// of a warp read a column of the tile: with PAD elements more a row they find it in other banks.
#ifndef TILE
#define TILE 32
#endif
#ifndef ROWS
#define ROWS 8
#endif
#ifndef PAD
#define PAD 0
#endif
__global__ void transpose(const float* x, float* y, int rows, int columns) {
  __shared__ float tile[TILE][TILE + PAD];
  int column = blockIdx.x * TILE + threadIdx.x;
  int row = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS)
    if (row + j < rows && column < columns)
      tile[threadIdx.y + j][threadIdx.x] = x[(row + j) * columns + column];
  __syncthreads();
  column = blockIdx.y * TILE + threadIdx.x;
  row = blockIdx.x * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS)
    if (row + j < columns && column < rows)
      y[(row + j) * rows + column] = tile[threadIdx.x][threadIdx.y + j];
}
