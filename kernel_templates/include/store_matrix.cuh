// Matrices of 16-bit elements from registers to shared memory, sm_90. PTX ISA: stmatrix.
#pragma once

// Four 8x8 matrices; lane l gives the address of row l % 8 of matrix l / 8. A register has row
// l / 4, columns l % 4 * 2 and the next.
__device__ __forceinline__ void store_matrices(unsigned address, unsigned r0, unsigned r1,
                                               unsigned r2, unsigned r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(r0), "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}
