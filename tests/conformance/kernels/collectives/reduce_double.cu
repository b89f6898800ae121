// class: reduction
// about: sums in double, and sums of squares
// grid: [4]
// block: [128]
// args:
//   - f64[2048]=normal:5
//   - out:f64[8]
extern "C" __global__ void reduce_double(const double* in, double* out) {
  __shared__ double sums[128], squares[128];
  const int t = threadIdx.x;
  double sum = 0, square = 0;
  for (int i = t; i < 512; i += 128) {
    const double x = in[blockIdx.x * 512 + i];
    sum += x;
    square += x * x;
  }
  sums[t] = sum;
  squares[t] = square;
  for (int half = 64; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) {
      sums[t] += sums[t + half];
      squares[t] += squares[t + half];
    }
  }
  if (t == 0) {
    out[2 * blockIdx.x] = sums[0];
    out[2 * blockIdx.x + 1] = squares[0];
  }
}
