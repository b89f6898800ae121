#include <cuda_fp16.h>
#define C(a, b) a##b
%:define P "x"
#if defined(__has_include) && __has_include(<cub/cub.cuh>)
# /* a */ include "math.h"
#elif C(X, Y) /* b */
#endif
