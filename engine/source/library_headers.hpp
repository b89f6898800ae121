#pragma once

#include <string_view>

namespace fa_tune {

// Whether a file that includes `name` means a header of the C or C++ library or of the CUDA
// toolkit, not one of its own: <stdint.h>, "cuda_fp16.h", <cub/block/block_reduce.cuh>. The
// compiler knows where those are (engine/kernel/compile/compiler_headers.hpp); all other names are
// files to be found.
bool is_library_header(std::string_view name);

}  // namespace fa_tune
