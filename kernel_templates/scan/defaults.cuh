// fa-tune: defaults. A search defines all of these and leaves this file out.
// The genes of this folder's templates for a compiler that is given one by itself.
#pragma once

#ifndef THREADS
#define THREADS 256
#endif

// tiles.cu
#ifndef ITEMS
#define ITEMS 4
#endif
#ifndef SUM_THREADS
#define SUM_THREADS 256
#endif
