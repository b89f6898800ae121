// fa-tune: defaults. A search defines all of these and leaves this file out.
// The genes of scalar.cu for a compiler that is given it by itself: a tile of 32 rows and 32 keys.
#pragma once

#include "problem_defaults.cuh"

#ifndef BLOCK_M
#define BLOCK_M 32
#endif
#ifndef BLOCK_N
#define BLOCK_N 32
#endif
#ifndef WARPS
#define WARPS 4
#endif
