#pragma once

#include <cstdlib>
#include <string>

namespace fa_tune::test {

// Whether a shell's command ends with 0.
inline bool runs(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;  // NOLINT(cert-env33-c)
}

}  // namespace fa_tune::test
