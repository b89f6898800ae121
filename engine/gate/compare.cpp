#include "engine/gate/compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <ranges>

#include <fmt/core.h>

#include "engine/base/half.hpp"

namespace fa_tune {
namespace {

template <typename T>
T load(std::span<const std::byte> bytes, std::size_t element) {
  T value;
  std::memcpy(&value, bytes.data() + element * sizeof value, sizeof value);
  return value;
}

// Was this element left as the gate had filled it: all ones?
bool untouched(const Tensor& tensor, std::span<const std::byte> bytes, std::size_t element) {
  const std::size_t size = size_of(tensor.type);
  const auto own = bytes.subspan(element * size, size);
  return std::all_of(own.begin(), own.end(),
                     [](std::byte each) { return each == std::byte{0xff}; });
}

// error / bound, where nothing is allowed and nothing is off counting as 0.
double ratio_of(double error, double bound) {
  if (bound > 0) return error / bound;
  return error == 0 ? 0 : std::numeric_limits<double>::infinity();
}

}  // namespace

std::string element_name(const Tensor& tensor, std::size_t element) {
  std::string index;
  for (const std::int64_t dim : std::views::reverse(tensor.dims)) {
    const auto size = static_cast<std::size_t>(dim);
    index = std::to_string(element % size) + (index.empty() ? "" : "," + index);
    element /= size;
  }
  return tensor.name + "[" + index + "]";
}

double element_value(DType type, std::span<const std::byte> bytes, std::size_t element) {
  switch (type) {
    case DType::e4m3:
      return static_cast<double>(from_e4m3(load<std::uint8_t>(bytes, element)));
    case DType::f16:
      return static_cast<double>(from_f16(load<std::uint16_t>(bytes, element)));
    case DType::bf16:
      return static_cast<double>(from_bf16(load<std::uint16_t>(bytes, element)));
    case DType::f32:
      return static_cast<double>(load<float>(bytes, element));
    case DType::f64:
      return load<double>(bytes, element);
    case DType::i32:
      return load<std::int32_t>(bytes, element);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

Comparison compare(const Tensor& output, std::span<const std::byte> bytes,
                   const Expectation& expectation) {
  const std::size_t elements = expectation.exact.size();
  Comparison result;
  std::size_t not_finite = 0, first_not_finite = 0, unwritten = 0, wrong = 0, worst = 0, scaled = 0;
  double error_energy = 0, exact_energy = 0, scaled_energy = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    const double exact = expectation.exact[i];
    const double value = element_value(output.type, bytes, i);
    if (!std::isfinite(value) && value != exact) {
      if (not_finite++ == 0) first_not_finite = i;
      if (untouched(output, bytes, i)) ++unwritten;
      continue;
    }
    const double error = value == exact ? 0 : std::abs(value - exact);
    const double ratio = ratio_of(error, expectation.bound[i]);
    // In this form a NaN, which compares as false with everything, is an error.
    if (!(error <= expectation.bound[i])) ++wrong;
    if (!(ratio <= result.worst_ratio)) {
      result.worst_ratio = ratio;
      worst = i;
    }
    error_energy += error * error;
    if (std::isfinite(exact)) exact_energy += exact * exact;
    if (expectation.bound[i] > 0) {
      scaled_energy += ratio * ratio;
      ++scaled;
    }
  }
  result.rms = ratio_of(std::sqrt(error_energy), std::sqrt(exact_energy));
  const double scaled_rms =
      scaled == 0 ? 0 : std::sqrt(scaled_energy / static_cast<double>(scaled));

  if (not_finite > 0) {
    result.finding = Finding::not_finite;
    result.message = fmt::format(
        "{} = {}, expected {:.6g}; {} of {} elements are not finite, {} of them never written",
        element_name(output, first_not_finite), element_value(output.type, bytes, first_not_finite),
        expectation.exact[first_not_finite], not_finite, elements, unwritten);
  } else if (wrong > 0) {
    result.finding = Finding::wrong;
    result.message =
        fmt::format("{} = {:.6g}, expected {:.6g}, allowed {:.3g}; {} of {} elements are off",
                    element_name(output, worst), element_value(output.type, bytes, worst),
                    expectation.exact[worst], expectation.bound[worst], wrong, elements);
  } else if (!(result.rms <= expectation.rms_bound)) {
    result.finding = Finding::imprecise;
    result.message = fmt::format("{}: relative RMS error {:.3g}, allowed {:.3g}", output.name,
                                 result.rms, expectation.rms_bound);
  } else if (!(scaled_rms <= expectation.scaled_rms_bound)) {
    result.finding = Finding::imprecise;
    result.message = fmt::format(
        "{}: RMS of the errors is {:.3g} of what an element is allowed, at most {:.3g} may be",
        output.name, scaled_rms, expectation.scaled_rms_bound);
  }
  return result;
}

}  // namespace fa_tune
