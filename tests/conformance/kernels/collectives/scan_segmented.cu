// class: scan
// about: sums that begin anew at flags
// grid: [2]
// block: [128]
// args:
//   - i32[256]=integers:10:-100:100
//   - u8[256]=integers:11:0:7
//   - out:i32[256]
extern "C" __global__ void scan_segmented(const int* in, const unsigned char* flags, int* out) {
  __shared__ int value[128];
  __shared__ int head[128];
  const int t = threadIdx.x, i = blockIdx.x * 128 + t;
  value[t] = in[i];
  head[t] = flags[i] == 0 || t == 0;
  __syncthreads();
  for (int d = 1; d < 128; d *= 2) {
    int add = 0, begins = 0;
    if (t >= d && !head[t]) {
      add = value[t - d];
      begins = head[t - d];
    }
    __syncthreads();
    value[t] += add;
    head[t] |= begins;
    __syncthreads();
  }
  out[i] = value[t];
}
