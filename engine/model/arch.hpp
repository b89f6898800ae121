#pragma once

#include <string_view>

namespace fa_tune {

// 89 of "sm_89", 90 of "sm_90a": ten times the compute capability.
constexpr int arch_number(std::string_view arch) {
  int number = 0;
  for (const char c : arch)
    if (c >= '0' && c <= '9') number = number * 10 + (c - '0');
  return number;
}

}  // namespace fa_tune
