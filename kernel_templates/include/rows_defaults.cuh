// fa-tune: defaults. A search defines all of these and leaves this file out.
// The genes of rows.cuh, and of kernels with a block a row, for a compiler that is given a template by
// itself.
#pragma once

// Of the problem.
#ifndef COLUMNS
#define COLUMNS 1024
#endif

// block.cu
#ifndef THREADS
#define THREADS 256
#endif

// rows.cuh
#ifndef WARPS
#define WARPS 4
#endif
#ifndef ROWS
#define ROWS 2
#endif
#ifndef VECTOR
#define VECTOR 4
#endif
#ifndef LOAD
#define LOAD cached
#endif
#ifndef STORE
#define STORE cached
#endif
