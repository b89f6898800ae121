# pragma once
/* The include of a comment stays where it is:
#include "absent.cuh"
*/
#  include "arith.cuh"  // itself, once more
#if FAST
__device__ float doubled(float x) { return x + x; }
#else
__device__ float doubled(float x) { return Mode::MODE * x; }
#endif
