// fa-tune: defaults. A search defines all of these and leaves this file out.
// The genes of wmma.cu for a compiler that is given it by itself: 32 rows and 64 keys, copied one
// tile ahead.
#pragma once

#include "problem_defaults.cuh"

#ifndef BLOCK_M
#define BLOCK_M 32
#endif
#ifndef BLOCK_N
#define BLOCK_N 64
#endif
#ifndef WARPS
#define WARPS 4
#endif
#ifndef PV
#define PV wmma
#endif
#ifndef COPY
#define COPY async
#endif
#ifndef STAGES
#define STAGES 2
#endif
#ifndef LAYOUT
#define LAYOUT fragments
#endif
#ifndef EPILOGUE
#define EPILOGUE fused
#endif
#ifndef PERSISTENT
#define PERSISTENT 0
#endif
#ifndef L2_HINT
#define L2_HINT none
#endif
