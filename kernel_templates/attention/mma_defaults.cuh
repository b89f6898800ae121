// fa-tune: defaults. A search defines all of these and leaves this file out.
// The genes of mma.cu for a compiler that is given it by itself: preset `fa2` of the space `l4`.
#pragma once

#include "problem_defaults.cuh"

#ifndef BLOCK_M
#define BLOCK_M 128
#endif
#ifndef BLOCK_N
#define BLOCK_N 128
#endif
#ifndef WARPS_M
#define WARPS_M 4
#endif
#ifndef WARPS_N
#define WARPS_N 1
#endif
#ifndef STAGES
#define STAGES 1
#endif
#ifndef LAYOUT
#define LAYOUT swizzled
#endif
#ifndef Q_PLACE
#define Q_PLACE in_shared
#endif
#ifndef RESCALE
#define RESCALE always
#endif
#ifndef EPILOGUE
#define EPILOGUE staged
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 0
#endif
#ifndef KV_ORDER
#define KV_ORDER forwards
#endif
#ifndef SCHEDULE
#define SCHEDULE by_rows
#endif
#ifndef L2_HINT
#define L2_HINT none
#endif
#ifndef TENSOR_COPY
#define TENSOR_COPY 0
#endif
#ifndef K_PARTS
#define K_PARTS 1
#endif
#ifndef DEPENDENT_LAUNCH
#define DEPENDENT_LAUNCH 0
#endif
#ifndef NEXT_BEGINS
#define NEXT_BEGINS at_start
#endif
#ifndef MASKED_TILES
#define MASKED_TILES among
#endif
#ifndef EARLY_P
#define EARLY_P 4
#endif
#ifndef JOIN_PLACE
#define JOIN_PLACE over_kv
#endif
