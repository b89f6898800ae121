#pragma once
#include "../parts/index.cuh"
#include "arith.cuh"
__device__ int first_index() { return blockIdx.x * BLOCK + threadIdx.x; }
