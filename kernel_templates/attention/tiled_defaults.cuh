// fa-tune: defaults. A search defines all of these and leaves this file out.
// The genes of tiled.cu for a compiler that is given it by itself: preset `inverted` of the space
// `ladder`.
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
#ifndef WORK
#define WORK rows
#endif
#ifndef REDUCTION
#define REDUCTION serial
#endif
#ifndef OUTPUT
#define OUTPUT in_registers
#endif
#ifndef IO
#define IO scalar
#endif
