// fa-tune: defaults. A search defines all of these and leaves this file out.
// The genes of this folder's templates for a compiler that is given one by itself.
#pragma once

#include "rows_defaults.cuh"

// kept.cu
#ifndef EARLY_WEIGHT
#define EARLY_WEIGHT 0
#endif
