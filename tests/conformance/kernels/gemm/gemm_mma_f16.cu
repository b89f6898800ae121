// class: gemm mma
// about: m16n8k16 with ldmatrix, f16 into f32
// grid: [4, 2]
// block: [32]
// args:
//   - f16[32x64]=normal:27
//   - f16[64x32]=normal:28
//   - out:f32[32x32]
extern "C" __global__ void gemm_mma_f16(const unsigned short* a, const unsigned short* b, float* c) {
  __shared__ __align__(16) unsigned short as[16][24];
  __shared__ __align__(16) unsigned short bs[16][8];
  const int lane = threadIdx.x;
  float d[4] = {};
  for (int k = 0; k < 64; k += 16) {
    for (int i = lane; i < 256; i += 32) as[i / 16][i % 16] = a[(blockIdx.y * 16 + i / 16) * 64 + k + i % 16];
    for (int i = lane; i < 128; i += 32) bs[i / 8][i % 8] = b[(k + i / 8) * 32 + blockIdx.x * 8 + i % 8];
    __syncwarp();
    unsigned ra[4], rb[2];
    const unsigned pa = (unsigned)__cvta_generic_to_shared(&as[lane % 16][lane / 16 * 8]);
    const unsigned pb = (unsigned)__cvta_generic_to_shared(&bs[lane % 16][0]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb) : "memory");
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    __syncwarp();
  }
  float* o = c + (blockIdx.y * 16 + lane / 4) * 32 + blockIdx.x * 8 + lane % 4 * 2;
  o[0] = d[0];
  o[1] = d[1];
  o[256] = d[2];
  o[257] = d[3];
}
