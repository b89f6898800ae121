#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include <fmt/core.h>

#include "engine/gate/bound_ranks.hpp"
#include "engine/gate/compare.hpp"
#include "engine/util/half.hpp"
#include "engine/util/parallel.hpp"

namespace fa_tune::gate {
namespace {

// Rows that are looked at together, by one thread.
constexpr std::size_t kRows = 2048;

// Which groups of kRows rows have something outside; without a branch an element, as this reads all
// that a kernel has written.
std::vector<std::uint8_t> groups_outside(std::span<const std::byte> bytes,
                                         const problem::ValueBounds& limits, DType type) {
  const BoundRanks ranks(limits, type);
  const std::size_t rows = limits.range_of_row.size(), length = limits.row_elements;
  std::vector<std::uint8_t> outside((rows + kRows - 1) / kRows);
  in_parallel(outside.size(), [&](std::size_t group) {
    std::uint16_t any = 0;
    for (std::size_t row = group * kRows; row < std::min(rows, (group + 1) * kRows); ++row) {
      const std::byte* from = bytes.data() + row * length * sizeof(std::uint16_t);
      const std::int16_t* least = ranks.least.data() + limits.range_of_row[row] * length;
      const std::int16_t* most = ranks.most.data() + limits.range_of_row[row] * length;
      for (std::size_t i = 0; i < length; ++i) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
        const std::int16_t rank = BoundRanks::rank_of(bits);
        any |= static_cast<std::uint16_t>((rank < least[i] ? 1 : 0) | (rank > most[i] ? 1 : 0));
      }
    }
    outside[group] = any != 0 ? 1 : 0;
  });
  return outside;
}

// What lies outside, element by element.
struct Outside {
  std::size_t not_finite = 0, unwritten = 0, beyond = 0;
  std::size_t first_not_finite = 0, first_beyond = 0;

  void add(const problem::Tensor& output, std::span<const std::byte> bytes, std::size_t element,
           double least, double most) {
    const double value = element_value(output.type, bytes, element);
    if (value >= least && value <= most) return;
    if (!std::isfinite(value)) {
      if (not_finite++ == 0) first_not_finite = element;
      if (is_untouched(output, bytes, element)) ++unwritten;
    } else if (beyond++ == 0) {
      first_beyond = element;
    }
  }
};

}  // namespace

BoundRanks::BoundRanks(const problem::ValueBounds& limits, DType type)
    : least(limits.least.size()), most(limits.most.size()) {
  const auto round = [type](float value) {
    const auto exact = static_cast<double>(value);
    return type == DType::bf16 ? to_bf16(exact) : to_f16(exact);
  };
  const std::uint16_t largest = type == DType::bf16 ? 0x7f7f : 0x7bff;
  const std::int16_t top = rank_of(largest), bottom = rank_of(largest | 0x8000U);
  for (std::size_t i = 0; i < least.size(); ++i) {
    const int low = rank_of(round(limits.least[i])), high = rank_of(round(limits.most[i]));
    const bool zero = limits.least[i] == 0 && limits.most[i] == 0;
    least[i] = zero ? rank_of(0x8000) : static_cast<std::int16_t>(std::max<int>(low - 1, bottom));
    most[i] = zero ? rank_of(0) : static_cast<std::int16_t>(std::min<int>(high + 1, top));
  }
}

Comparison compare_with_limits(const problem::Tensor& output, std::span<const std::byte> bytes,
                               const problem::ValueBounds& limits) {
  const std::size_t rows = limits.range_of_row.size(), length = limits.row_elements;
  const bool halves = output.type == DType::f16 || output.type == DType::bf16;
  const auto suspect = halves ? groups_outside(bytes, limits, output.type)
                              : std::vector<std::uint8_t>((rows + kRows - 1) / kRows, 1);
  Outside outside;
  for (std::size_t row = 0; row < rows; ++row) {
    if (suspect[row / kRows] == 0) continue;
    for (std::size_t i = 0; i < length; ++i) {
      const std::size_t at = limits.range_of_row[row] * length + i;
      outside.add(output, bytes, row * length + i, static_cast<double>(limits.least[at]),
                  static_cast<double>(limits.most[at]));
    }
  }
  Comparison result;
  if (outside.not_finite > 0) {
    result.finding = Finding::kNotFinite;
    result.message =
        fmt::format("{} = {}; {} of {} elements are not finite, {} of them never written",
                    element_name(output, outside.first_not_finite),
                    element_value(output.type, bytes, outside.first_not_finite), outside.not_finite,
                    rows * length, outside.unwritten);
  } else if (outside.beyond > 0) {
    const std::size_t at =
        limits.range_of_row[outside.first_beyond / length] * length + outside.first_beyond % length;
    result.finding = Finding::kWrong;
    result.message = fmt::format(
        "{} = {:.6g}, which no correct kernel gives: what its row sees lies between {:.6g} and "
        "{:.6g}; {} of {} elements are so",
        element_name(output, outside.first_beyond),
        element_value(output.type, bytes, outside.first_beyond),
        static_cast<double>(limits.least[at]), static_cast<double>(limits.most[at]), outside.beyond,
        rows * length);
  }
  return result;
}

}  // namespace fa_tune::gate
