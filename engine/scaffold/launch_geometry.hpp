#pragma once

#include "engine/scaffold/draft.hpp"

namespace fa_tune::scaffold {

// How a kernel is launched: threads of its blocks, from what its text multiplies blockIdx by;
// blocks of its grid, from its guards.

// Needs the first walk over the kernel.
void choose_blocks(Draft& draft);
// Needs the blocks.
void choose_extents(Draft& draft);

// Needs sizes and parameters, which its formulas name: the grid, the block and the dynamic shared
// memory of the template and of its reference.
void write_launches(Draft& draft);
// 1 to 3.
std::size_t block_dimensions(const Draft& draft);

}  // namespace fa_tune::scaffold
