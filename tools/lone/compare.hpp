#pragma once

#include <cstdint>
#include <span>

#include "tools/lone/kernel_file.hpp"

namespace fa_tune {

// Two devices' contents of the same buffer.
struct Difference {
  std::uint64_t elements = 0;
  std::uint64_t identical = 0;  // NaN of any payload are alike
  std::uint64_t worst_ulp = 0;
  double worst_absolute = 0;
  std::uint64_t first = 0;  // index of the first that differs, if one does
  bool agrees = true;       // all within the bound

  Difference& operator+=(const Difference& other);
};

Difference compare(const ArgumentSpec& spec, const Agreement& agreement,
                   std::span<const std::byte> a, std::span<const std::byte> b);

// Element `index` of a buffer.
std::uint64_t element_bits(Element element, std::span<const std::byte> bytes, std::uint64_t index);

}  // namespace fa_tune
