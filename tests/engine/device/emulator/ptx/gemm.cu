// C = A B for fp16 A (m x k) and B (k x n), both row-major, fp32 C; one warp a tile of 16 x 8, tiles
// of 16 along k brought by double-buffered asynchronous copies.
// nvcc -arch=sm_89 -ptx gemm.cu -o gemm.ptx
#include <cuda_fp16.h>

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

extern "C" __global__ void gemm(const half* a, const half* b, float* c, int n, int k) {
  __shared__ __align__(16) half tile_a[2][16][16];
  __shared__ __align__(16) half tile_b[2][16][8];
  const int lane = threadIdx.x;
  const int row = blockIdx.y * 16;
  const int column = blockIdx.x * 8;
  const auto fetch = [&](int step) {
    const int stage = step & 1;
    const int r = lane / 2;
    const int h = lane % 2 * 8;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     shared_address(&tile_a[stage][r][h])),
                 "l"(a + (row + r) * k + step * 16 + h));
    if (lane < 16) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                       shared_address(&tile_b[stage][lane][0])),
                   "l"(b + (step * 16 + lane) * n + column));
    }
    asm volatile("cp.async.commit_group;");
  };
  float acc[4] = {};
  fetch(0);
  for (int step = 0; step < k / 16; ++step) {
    if (step + 1 < k / 16) {
      fetch(step + 1);
      asm volatile("cp.async.wait_group 1;");
    } else {
      asm volatile("cp.async.wait_group 0;");
    }
    __syncwarp();
    unsigned fa[4], fb[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
                 : "r"(shared_address(&tile_a[step & 1][lane % 16][lane / 16 * 8])));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(fb[0]), "=r"(fb[1])
                 : "r"(shared_address(&tile_b[step & 1][lane % 16][0])));
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
        : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
    __syncwarp();
  }
  float* out = c + (row + lane / 4) * n + column + lane % 4 * 2;
  out[0] = acc[0];
  out[1] = acc[1];
  out[8 * n] = acc[2];
  out[8 * n + 1] = acc[3];
}
