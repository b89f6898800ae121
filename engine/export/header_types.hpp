#pragma once

#include "engine/problem/problem.hpp"

namespace fa_tune::exports {

// A type as CUDA's own headers have it, so that nothing need be included to name it.
struct CxxType {
  const char* name;
  const char* declaration;  // or nothing
  const char* map_type;
};

CxxType cxx_type(DType type);
CxxType cxx_type(const problem::Tensor& tensor);

}  // namespace fa_tune::exports
