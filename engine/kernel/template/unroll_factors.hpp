#pragma once

#include <functional>
#include <string>

namespace fa_tune {

// `text` with the factors of its unroll pragmas written out by `meaning` of each word: `#pragma
// unroll UNROLL` as `#pragma unroll 5`. NVRTC expands macros there; nvcc's host preprocessor does
// not (a pragma is implementation-defined, C++ [cpp.pragma]), so that an exported file would not
// compile with it. Keeps the number of lines.
std::string with_unroll_factors(const std::string& text,
                                const std::function<std::string(const std::string&)>& meaning);

}  // namespace fa_tune
