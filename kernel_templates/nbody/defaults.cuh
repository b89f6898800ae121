// fa-tune: defaults. A search defines all of these and leaves this file out.
// The genes of this folder's templates for a compiler that is given one by itself.
#pragma once

#ifndef THREADS
#define THREADS 64
#endif
#ifndef PER
#define PER 2
#endif
#ifndef SPLIT
#define SPLIT 4
#endif
#ifndef TILE
#define TILE 256
#endif
#ifndef UNROLL
#define UNROLL 8
#endif
#ifndef RSQRT
#define RSQRT exact
#endif
