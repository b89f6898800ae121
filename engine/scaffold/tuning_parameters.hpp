#pragma once

#include "engine/scaffold/draft.hpp"

namespace fa_tune::scaffold {

// What a config chooses: template parameters, macros and threads of a block, with values to try.
void write_parameters(Draft& draft);
// Which of these values go together.
void write_constraints(Draft& draft);
// The kernel as the template and its reference name it: gemm<TILE, float>.
void write_names(Draft& draft);

}  // namespace fa_tune::scaffold
