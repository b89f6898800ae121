#pragma once

#include <string>
#include <string_view>

namespace fa_tune::source {

// A type by the name that spaces have for it ("f32", "u64", "i32x2", "complex64"), from its name in
// C, CUDA, or NumPy: `float`, `size_t`, `int2`, `cuComplex`, `uint8`. Another text is returned as it
// is.
std::string canonical_type(std::string_view name);

}  // namespace fa_tune::source
