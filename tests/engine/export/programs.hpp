#pragma once

#include <cstdlib>
#include <string>
#include <utility>

#include "engine/export/package.hpp"

namespace fa_tune::test {

// Whether a shell's command ends with 0.
inline bool runs(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;  // NOLINT(cert-env33-c)
}

// One kernel, `scale`, with one call.
inline exports::Package package_of(const std::string& name, exports::PackagedCall call) {
  const std::string code =
      "\x7f"
      "ELF and code";
  return {.version = "0.1.0",
          .problem = "custom",
          .name = name,
          .kernels = {{{BinaryKind::cubin, "sm_90a", "scale", code, {}}, "5ace"}},
          .calls = {std::move(call)}};
}

}  // namespace fa_tune::test
