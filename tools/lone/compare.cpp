#include "tools/lone/compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fa_tune {
namespace {

bool within(const ArgumentSpec& spec, const Agreement& agreement, std::uint64_t ulp,
            double absolute) {
  if (ulp == 0) return true;
  if (!is_floating(spec.element)) return false;
  switch (agreement.kind) {
    case Agreement::Kind::exact:
      return false;
    case Agreement::Kind::ulp:
      return static_cast<double>(ulp) <= agreement.bound;
    case Agreement::Kind::absolute:
      return absolute <= agreement.bound;
  }
  return false;
}

}  // namespace

Difference& Difference::operator+=(const Difference& other) {
  elements += other.elements;
  identical += other.identical;
  worst_ulp = std::max(worst_ulp, other.worst_ulp);
  worst_absolute = std::max(worst_absolute, other.worst_absolute);
  first = agrees ? other.first : first;
  agrees = agrees && other.agrees;
  return *this;
}

std::uint64_t element_bits(Element element, std::span<const std::byte> bytes, std::uint64_t index) {
  const auto size = static_cast<std::size_t>(size_of(element));
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * size, size);
  return bits;
}

Difference compare(const ArgumentSpec& spec, const Agreement& agreement,
                   std::span<const std::byte> a, std::span<const std::byte> b) {
  Difference result;
  result.elements = spec.elements();
  bool differs = false;
  for (std::uint64_t i = 0; i < result.elements; ++i) {
    const std::uint64_t x = element_bits(spec.element, a, i);
    const std::uint64_t y = element_bits(spec.element, b, i);
    if (x == y) {
      ++result.identical;
      continue;
    }
    if (!is_floating(spec.element)) {
      result.agrees = false;
      if (!differs) result.first = i;
      differs = true;
      continue;
    }
    const std::uint64_t ulp = ulps_between(spec.element, x, y);
    const bool nan = std::isnan(value_of(spec.element, x)) && ulp == 0;
    if (nan) {
      ++result.identical;
      continue;
    }
    double off = std::abs(value_of(spec.element, x) - value_of(spec.element, y));
    if (std::isnan(off)) off = INFINITY;
    // Zeros of both signs are no ulp apart and yet not the same.
    const bool fine = within(spec, agreement, std::max<std::uint64_t>(ulp, 1), off);
    if (!fine && result.agrees) result.first = i;
    if (!differs && result.agrees) result.first = i;
    differs = true;
    result.agrees = result.agrees && fine;
    result.worst_ulp = std::max({result.worst_ulp, ulp, std::uint64_t{1}});
    result.worst_absolute = std::max(result.worst_absolute, off);
  }
  return result;
}

}  // namespace fa_tune
