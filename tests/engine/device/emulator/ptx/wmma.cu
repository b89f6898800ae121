// D = A B + C of one tile by nvcuda::wmma, a kernel a shape and type; all matrices have the leading
// dimension `stride`, C and D are row-major.
// nvcc -arch=sm_80 -ptx wmma.cu -o wmma.ptx
#include <mma.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

using namespace nvcuda;

#define TILE(name, m, n, k, type, stored, sum, a_layout, b_layout)                                \
  extern "C" __global__ void name(const stored* a, const stored* b, const sum* c, sum* d,         \
                                  int stride) {                                                   \
    wmma::fragment<wmma::matrix_a, m, n, k, type, wmma::a_layout> left;                           \
    wmma::fragment<wmma::matrix_b, m, n, k, type, wmma::b_layout> right;                          \
    wmma::fragment<wmma::accumulator, m, n, k, sum> sums;                                         \
    wmma::load_matrix_sync(left, a, stride);                                                      \
    wmma::load_matrix_sync(right, b, stride);                                                     \
    wmma::load_matrix_sync(sums, c, stride, wmma::mem_row_major);                                 \
    wmma::mma_sync(sums, left, right, sums);                                                      \
    wmma::store_matrix_sync(d, sums, stride, wmma::mem_row_major);                                \
  }

TILE(f16_square, 16, 16, 16, half, half, float, row_major, row_major)
TILE(f16_tall, 32, 8, 16, half, half, float, row_major, col_major)
TILE(f16_flat, 8, 32, 16, half, half, float, col_major, row_major)
TILE(f16_sums, 16, 16, 16, half, half, half, row_major, col_major)
TILE(bf16_square, 16, 16, 16, __nv_bfloat16, __nv_bfloat16, float, row_major, col_major)
TILE(tf32_square, 16, 16, 8, wmma::precision::tf32, float, float, row_major, col_major)
TILE(s8_square, 16, 16, 16, signed char, signed char, int, row_major, col_major)
TILE(u8_tall, 32, 8, 16, unsigned char, unsigned char, int, col_major, row_major)
TILE(f64_square, 8, 8, 4, double, double, double, row_major, col_major)
