// fa-tune: defaults. A search defines all of these and leaves this file out.
// The genes of tiled.cu for a compiler that is given it by itself: preset `inverted` of the space
// `ladder`.
#pragma once

#include "scalar_defaults.cuh"

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
