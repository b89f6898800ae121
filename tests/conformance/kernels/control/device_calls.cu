// class: calls
// about: functions that are not inlined, with structures and arrays by value and reference
// grid: [1]
// block: [96]
// args:
//   - i32[96]=integers:41:-1000:1000
//   - out:i32[96]
struct Pair {
  int low, high;
  long long product;
};

__device__ __noinline__ Pair order(int a, int b) { return {min(a, b), max(a, b), (long long)a * b}; }
__device__ __noinline__ void twist(int* values, int n) {
  for (int i = 1; i < n; ++i) values[i] += values[i - 1] ^ i;
}
__device__ __noinline__ int fold(const int* values, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    const Pair p = order(values[i], values[n - 1 - i]);
    sum += p.low - 2 * p.high + (int)(p.product >> 4);
  }
  return sum;
}

extern "C" __global__ void device_calls(const int* in, int* out) {
  int values[8];
  for (int i = 0; i < 8; ++i) values[i] = in[(threadIdx.x + i * 11) % 96];
  twist(values, 5 + threadIdx.x % 4);
  out[threadIdx.x] = fold(values, 8);
}
