// fa-tune: defaults. A search defines all of these and leaves this file out.
// The genes of decode.cu for a compiler that is given it by itself.
#pragma once

#include "problem_defaults.cuh"

#ifndef BLOCK_M
#define BLOCK_M 16
#endif
#ifndef WARPS
#define WARPS 4
#endif
#ifndef WARP_KEYS
#define WARP_KEYS 16
#endif
#ifndef STAGES
#define STAGES 3
#endif
#ifndef SPLITS
#define SPLITS 8
#endif
#ifndef LAYOUT
#define LAYOUT swizzled
#endif
#ifndef Q_PLACE
#define Q_PLACE in_registers
#endif
#ifndef RESCALE
#define RESCALE always
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 0
#endif
#ifndef L2_HINT
#define L2_HINT none
#endif
#ifndef JOIN_THREADS
#define JOIN_THREADS 128
#endif
