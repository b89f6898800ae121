// fa-tune: defaults. A search defines all of these and leaves this file out.
// The genes of this folder's templates for a compiler that is given one by itself.
#pragma once

#ifndef THREADS
#define THREADS 256
#endif

// grid.cu
#ifndef BLOCKS
#define BLOCKS 1056
#endif
#ifndef VECTOR
#define VECTOR 4
#endif
#ifndef UNROLL
#define UNROLL 1
#endif
#ifndef LOAD
#define LOAD cached
#endif

// stages.cu
#ifndef PARTS
#define PARTS 528
#endif
#ifndef LAST_THREADS
#define LAST_THREADS 256
#endif
