// fa-tune: defaults. A search defines all of these and leaves this file out.
// The genes of this folder's templates for a compiler that is given one by itself.
#pragma once

// tile.cu
#ifndef TILE
#define TILE 64
#endif
#ifndef PER
#define PER 4
#endif

// tile.cu and mma.cu
#ifndef DEPTH
#define DEPTH 32
#endif

// mma.cu
#ifndef BLOCK_M
#define BLOCK_M 128
#endif
#ifndef WARPS_M
#define WARPS_M 2
#endif
#ifndef WARPS_N
#define WARPS_N 2
#endif

// mma.cu and wgmma.cu
#ifndef BLOCK_N
#define BLOCK_N 128
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef GROUP
#define GROUP 8
#endif

// wgmma.cu
#ifndef CONSUMERS
#define CONSUMERS 2
#endif
#ifndef ROWS_64
#define ROWS_64 1
#endif
#ifndef CLUSTER
#define CLUSTER 1
#endif
#ifndef PERSISTENT
#define PERSISTENT 0
#endif
#ifndef EPILOGUE
#define EPILOGUE direct
#endif

// split_k.cu and split_k_wgmma.cu
#ifndef SPLIT
#define SPLIT 4
#endif
#ifndef SUM_THREADS
#define SUM_THREADS 256
#endif
