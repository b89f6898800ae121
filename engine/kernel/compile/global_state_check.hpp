#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/kernel/compile/compiler.hpp"

namespace fa_tune::kernel {

// A kernel with a memory of its own (`__device__` variables) can serve kept results, count launches
// or look at when it last ran, and what it does under a clock then proves nothing: no check of
// outputs finds one that compares all of its inputs with those before. So no kernel under test may
// have one.
//
// A variable that is only read is a table, and no memory; strings of assert and printf are such. It
// is told by the kernel's PTX: the address goes through arithmetic into loads alone, and into the
// calls of those two. One that is handed on to a function, or put anywhere, could be written
// through, and counts as written; of `__constant__` variables, which a kernel can write to by an
// address it made, that much is not asked. What the machine code holds and the PTX does not declare
// counts as well. So do memory from malloc(), which lasts as long as the module, and the time of a
// clock that is put into memory: it tells the next launch how long ago the last one was.

// What a kernel keeps from launch to launch, as "launches, kept"; nothing if that is nothing.
// `cubin`: what the PTX became; may be empty.
std::optional<std::string> persistent_variables(std::string_view ptx, std::string_view cubin = {});

// What the compiler says among its warnings of a kernel that has such variables, and the same found
// again: one line, for a refusal.
std::string keeps_state_warning(const std::string& variables);
std::optional<std::string> keeps_state(const Compiled& compiled);

}  // namespace fa_tune::kernel
