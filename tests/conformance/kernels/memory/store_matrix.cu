// class: memory
// about: stmatrix of one, two and four matrices, transposed too
// arch: sm_90
// grid: [1]
// block: [32]
// args:
//   - u32[128]=bits:95
//   - out:u32[384]
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void store_matrix(const unsigned* in, unsigned* out) {
  __shared__ __align__(16) unsigned tile[3][32][4];
  const int t = threadIdx.x;
  for (int i = 0; i < 12; ++i) tile[i / 4][t][i % 4] = 0;
  __syncwarp();
  unsigned r[4];
  for (int i = 0; i < 4; ++i) r[i] = in[i * 32 + t];
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(tile[0][t])), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(shared_address(tile[1][(t * 5) % 16 * 2])), "r"(r[2]), "r"(r[1]) : "memory");
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(shared_address(tile[2][t ^ 3])), "r"(r[3]) : "memory");
  __syncwarp();
  for (int i = 0; i < 12; ++i) out[i * 32 + t] = tile[i / 4][t][i % 4];
}
