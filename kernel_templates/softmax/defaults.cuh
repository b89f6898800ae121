// fa-tune: defaults. A search defines all of these and leaves this file out.
// The genes of this folder's templates for a compiler that is given one by itself.
#pragma once

// Of the problem.
#ifndef COLUMNS
#define COLUMNS 1024
#endif

// block.cu
#ifndef THREADS
#define THREADS 256
#endif

// kept.cu
#ifndef WARPS
#define WARPS 4
#endif
#ifndef ROWS
#define ROWS 2
#endif
#ifndef VECTOR
#define VECTOR 4
#endif
#ifndef JOIN
#define JOIN twice
#endif
#ifndef FAST_EXP
#define FAST_EXP 0
#endif
#ifndef LOAD
#define LOAD cached
#endif
#ifndef STORE
#define STORE cached
#endif
