// class: atomics
// about: float and double adds of whole numbers, which round nowhere
// grid: [2]
// block: [128]
// args:
//   - f32[256]=integers:34:-500:500
//   - inout:f32[1]=zeros
//   - inout:f64[1]=zeros
//   - out:f32[2]
extern "C" __global__ void atomics_float(const float* in, float* sum, double* wide, float* each) {
  __shared__ float mine;
  if (threadIdx.x == 0) mine = 0;
  __syncthreads();
  const float x = in[blockIdx.x * 128 + threadIdx.x];
  atomicAdd(&mine, x);
  atomicAdd(sum, x);
  atomicAdd(wide, (double)x * 0.5);
  __syncthreads();
  if (threadIdx.x == 0) each[blockIdx.x] = mine;
}
