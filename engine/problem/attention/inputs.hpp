#pragma once

#include "engine/problem/attention/shape.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune {

// Inputs in the real dtype: the truth is computed from these very values, so their rounding is no
// error of the kernel. The same shape, kind and seed give the same bytes on every machine.
Instance make_attention(const AttentionShape& shape, Inputs inputs, std::uint64_t seed);

}  // namespace fa_tune
