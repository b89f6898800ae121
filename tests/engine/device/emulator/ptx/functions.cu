// nvcc -ptx -arch=sm_80 functions.cu: calls of every kind, and variables that hold addresses.
struct Base {
  int k;
  __device__ virtual int go(int x) const = 0;
};
struct Sum : Base {
  __device__ int go(int x) const override { return x + k; }
};
struct Product : Base {
  __device__ int go(int x) const override { return x * k; }
};

__device__ int twice(int x) { return x * 2; }
__device__ int more(int x) { return x + 3; }
__device__ int flip(int x) { return x ^ 7; }
using Function = int (*)(int);
__device__ Function in_global[3] = {twice, more, flip};
__constant__ Function in_constant[2] = {more, flip};

__device__ int values[8] = {3, 4, 5, 6};
struct Record {
  int a;
  short b;
  const int* p;
};
__device__ Record record = {1, 2, &values[2]};
__device__ int* inside = values + 1;
__device__ const char* text = "hello";
__constant__ int small[2][2] = {{0, 1}, {2, 3}};

struct Big {
  int v[20];
};
__noinline__ __device__ Big shifted(Big big, int by) {
  for (int i = 0; i < 20; ++i) big.v[i] += by;
  return big;
}
__noinline__ __device__ int on_stack(const int* from, int n, int more_each) {
  int* copy = static_cast<int*>(__builtin_alloca(n * sizeof(int)));
  for (int i = 0; i < n; ++i) copy[i] = from[i] + more_each;
  int sum = 0;
  for (int i = 0; i < n; ++i) sum = sum * 3 + copy[i];
  return sum;
}

extern "C" __global__ void virtuals(int* out, int n) {
  Sum sum;
  sum.k = 3;
  Product product;
  product.k = 5;
  const Base* both[2] = {&sum, &product};
  out[threadIdx.x] = both[(threadIdx.x + n) & 1]->go(threadIdx.x);
}

extern "C" __global__ void pointers(int* out, int n) {
  const int i = threadIdx.x;
  out[i] = in_global[(i + n) % 3](out[i]) + in_constant[n & 1](4);
}

extern "C" __global__ void initial(int* out, int) {
  const int i = threadIdx.x;
  out[i] = text[i % 5] + *inside + record.a + record.b + *record.p + small[i / 2 % 2][i % 2];
}

extern "C" __global__ void stacks(int* out, int n) {
  const int i = threadIdx.x;
  Big big;
  for (int j = 0; j < 20; ++j) big.v[j] = j;
  big = shifted(big, i);
  const int first = on_stack(out, n, i);
  const int second = on_stack(out, n, i);
  __syncthreads();
  out[32 + i] = first + second + big.v[0] + 20;
}
