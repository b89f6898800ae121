#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/kernel/compiler.hpp"

namespace fa_tune {

// A kernel with a memory of its own (`__device__` variables) can serve kept results, count launches
// or look at when it last ran, and what it does under a clock then proves nothing: no check of
// outputs finds one that compares all of its inputs with those before. So no kernel under test may
// have one. Tables are not told apart from variables: they belong into `__constant__`, which a
// kernel cannot write.

// The variables in global memory that the code of a PTX text uses, as "launches, kept"; nothing if
// there are none.
std::optional<std::string> persistent_variables(std::string_view ptx);

// What the compiler says among its warnings of a kernel that has such variables, and the same found
// again: one line, for a refusal.
std::string keeps_state_warning(const std::string& variables);
std::optional<std::string> keeps_state(const Compiled& compiled);

}  // namespace fa_tune
