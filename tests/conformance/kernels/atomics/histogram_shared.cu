// class: atomics
// about: counts in shared memory, added to those in global memory
// grid: [4]
// block: [128]
// args:
//   - u8[4096]=bits:17
//   - inout:u32[256]=zeros
extern "C" __global__ void histogram_shared(const unsigned char* in, unsigned* counts) {
  __shared__ unsigned mine[256];
  for (int i = threadIdx.x; i < 256; i += 128) mine[i] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < 1024; i += 128) atomicAdd(&mine[in[blockIdx.x * 1024 + i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += 128) atomicAdd(&counts[i], mine[i]);
}
