#include "engine/source/library_headers.hpp"

#include <algorithm>
#include <array>

namespace fa_tune {
namespace {

using namespace std::literals;

// C's headers; with a 'c' before and no ".h", those of C++ that hold the same.
constexpr std::array kC = {"assert"sv, "float"sv,  "limits"sv, "math"sv,   "stdarg"sv, "stdbool"sv,
                           "stddef"sv, "stdint"sv, "stdio"sv,  "stdlib"sv, "string"sv, "time"sv};
// The toolkit's, by how their paths begin.
constexpr std::array kToolkit = {"builtin_types.h"sv,
                                 "channel_descriptor.h"sv,
                                 "cooperative_groups"sv,
                                 "crt/"sv,
                                 "cub/"sv,
                                 "cuComplex.h"sv,
                                 "cuda.h"sv,
                                 "cuda/"sv,
                                 "cuda_"sv,
                                 "curand"sv,
                                 "device_"sv,
                                 "driver_"sv,
                                 "math_"sv,
                                 "mma.h"sv,
                                 "nv/"sv,
                                 "sm_"sv,
                                 "texture_"sv,
                                 "thrust/"sv,
                                 "vector_"sv};

}  // namespace

bool is_library_header(std::string_view name) {
  const auto begins = [&](std::string_view beginning) { return name.starts_with(beginning); };
  if (std::ranges::any_of(kToolkit, begins)) return true;
  if (name.ends_with(".h"))
    name.remove_suffix(2);
  else if (name.starts_with('c'))
    name.remove_prefix(1);
  else
    return false;
  return std::ranges::find(kC, name) != kC.end();
}

}  // namespace fa_tune
