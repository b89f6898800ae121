// fa-tune: defaults. A search defines all of these and leaves this file out.
// The genes of this folder's templates for a compiler that is given one by itself.
#pragma once

#ifndef THREADS
#define THREADS 256
#endif

// atomic.cu and merge.cu
#ifndef BLOCKS
#define BLOCKS 264
#endif

// merge.cu
#ifndef MERGE_THREADS
#define MERGE_THREADS 32
#endif
