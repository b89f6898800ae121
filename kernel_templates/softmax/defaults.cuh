// fa-tune: defaults. A search defines all of these and leaves this file out.
// The genes of this folder's templates for a compiler that is given one by itself.
#pragma once

#include "rows_defaults.cuh"

// kept.cu
#ifndef JOIN
#define JOIN twice
#endif
#ifndef FAST_EXP
#define FAST_EXP 0
#endif
