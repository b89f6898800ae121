#pragma once

#include "engine/scaffold/draft.hpp"

namespace fa_tune::scaffold {

// The problem's arguments: shape, role, fill or value of each, and by which tolerance results are
// compared. Needs shapes and sizes. Throws UserError where the kernel writes to none of them.
void write_arguments(Draft& draft);

}  // namespace fa_tune::scaffold
