#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/kernel/template/template.hpp"

namespace fa_tune::problem {

// A plain kernel in float, or on 16-bit elements, as the same kernel in double: its source with
// lines before it, or behind what it includes with < >, that make `float`, float2 to float4, half,
// C's functions of floats, CUDA's fast ones and the conversions between them what they are of
// doubles, and its own name with double for float. Constants such as 0.1f stay the floats that
// they are. Written for plain kernels: one that looks at a float's bits is another kernel then, or
// none.
//
// What has no counterpart there, as half2 has none, is named by not_widened(): the first such word
// of a source's code.
std::optional<std::string> not_widened(const std::string& text);
kernel::Source widened(const kernel::Source& plain);
// How many times as large the kernel's dynamic shared memory must be in double.
std::uint32_t times_wider(const std::string& text);

}  // namespace fa_tune::problem
