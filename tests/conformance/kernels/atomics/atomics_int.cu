// class: atomics
// about: every integer atomic whose outcome knows no order, on global and shared memory
// grid: [4]
// block: [128]
// args:
//   - u32[512]=bits:30
//   - inout:u32[16]=zeros
//   - inout:u32[16]=value:4294967295
extern "C" __global__ void atomics_int(const unsigned* in, unsigned* g, unsigned* h) {
  __shared__ unsigned s[8];
  if (threadIdx.x < 8) s[threadIdx.x] = threadIdx.x == 1 || threadIdx.x == 3 ? 0xffffffffu : 0;
  __syncthreads();
  const unsigned x = in[blockIdx.x * 128 + threadIdx.x];
  atomicAdd(&s[0], x);
  atomicMin(&s[1], x);
  atomicMax(&s[2], x);
  atomicAnd(&s[3], x | 0x10u);
  atomicOr(&s[4], x & 0x1234u);
  atomicXor(&s[5], x);
  atomicMax((int*)&s[6], (int)x);
  atomicInc(&s[7], 100);
  __syncthreads();
  if (threadIdx.x < 8) g[8 + threadIdx.x] = 0;
  atomicAdd(&g[0], x);
  atomicSub(&g[1], x >> 3);
  atomicMax(&g[2], x);
  atomicOr(&g[3], x & 0x00ff0000u);
  atomicXor(&g[4], x);
  atomicInc(&g[5], 76);
  atomicMax((int*)&g[6], (int)x);
  atomicDec(&g[7], 100);
  atomicMin(&h[0], x);
  atomicAnd(&h[1], x | 0x0f0f0000u);
  atomicMin((int*)&h[2], (int)x);
  if (threadIdx.x < 8) atomicXor(&h[8 + threadIdx.x], s[threadIdx.x]);
}
