#pragma once

#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/util/environment.hpp"

namespace fa_tune::test {

// NVRTC with the cache that the tests of the program have too: a kernel that several of a run need
// is compiled by the first of them.
inline kernel::Compiler& cached_nvrtc() {
  static const auto compiler = kernel::with_cache(kernel::open_nvrtc(), cache_folder() / "kernels");
  return *compiler;
}

}  // namespace fa_tune::test
