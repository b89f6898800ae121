#include "tools/lone/summary.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/util/hash.hpp"
#include "tools/lone/compare.hpp"

namespace fa_tune {

std::string summary_of(const ArgumentSpec& spec, const LoneOutput& output) {
  double least = INFINITY;
  double most = -INFINITY;
  double sum = 0;
  std::uint64_t finite = 0;
  for (std::uint64_t i = 0; i < spec.elements(); ++i) {
    const double value = value_of(spec.element, element_bits(spec.element, output.bytes, i));
    if (!std::isfinite(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
    sum += value;
    ++finite;
  }
  std::string text = fmt::format("argument {:<2} {:<24}", output.argument, spec.text);
  if (finite > 0)
    text += fmt::format("  min {:.6g}  max {:.6g}  mean {:.6g}", least, most,
                        sum / static_cast<double>(finite));
  if (finite < spec.elements()) text += fmt::format("  {} not finite", spec.elements() - finite);
  return text + "  sha256 " + sha256(output.bytes).substr(0, 16);
}

}  // namespace fa_tune
