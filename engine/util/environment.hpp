#pragma once

#include <string>

namespace fa_tune {

// The value of an environment variable; empty if it is not set.
std::string environment(const char* name);

}  // namespace fa_tune
