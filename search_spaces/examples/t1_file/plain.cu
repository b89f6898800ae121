// A thread for each element of ProblemSize, which is how a T1 file's plain kernel is launched.
__global__ void plain(float* c, const float* a, const float* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
