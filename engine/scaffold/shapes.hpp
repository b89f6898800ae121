#pragma once

#include "engine/scaffold/draft.hpp"

namespace fa_tune::scaffold {

// How large buffers are, from the indices that the second walk over the kernel found.
void choose_shapes(Draft& draft);
// The sizes that shapes, loops and grids name, with values to time and to check.
void choose_sizes(Draft& draft);

}  // namespace fa_tune::scaffold
