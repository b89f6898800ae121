#include "engine/util/environment.hpp"

#include <cstdlib>

namespace fa_tune {

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets it
  return value == nullptr ? "" : value;
}

}  // namespace fa_tune
