#include "engine/gate/compare.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <ranges>

#include <fmt/core.h>

#include "engine/util/bytes.hpp"
#include "engine/util/half.hpp"
#include "engine/util/parallel.hpp"

namespace fa_tune::gate {
namespace {

// Elements that are looked at together, and how many of them at a time.
constexpr std::size_t kChunk = 1024;
constexpr std::size_t kWidth = 2;
using Lanes = double __attribute__((vector_size(kWidth * sizeof(double))));

Lanes lanes_at(const double* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

double sum_of(const Lanes& lanes) {
  double sum = 0;
  for (std::size_t i = 0; i < kWidth; ++i) sum += lanes[i];
  return sum;
}

// error / bound, where nothing is allowed and nothing is off counting as 0.
double ratio_of(double error, double bound) {
  if (bound > 0) return error / bound;
  return error == 0 ? 0 : std::numeric_limits<double>::infinity();
}

// What the elements of an output whose truth is known come to.
class Errors {
 public:
  // `rows_alone`: the bytes are those of the sampled rows.
  Errors(const problem::Tensor& output, std::span<const std::byte> bytes,
         const problem::Expectation& expectation, bool rows_alone)
      : Errors(output, bytes, expectation) {
    rows_alone_ = rows_alone;
    if (!expectation.sampled()) {
      add_whole();
      return;
    }
    const std::size_t length = expectation.limits.row_elements;
    for (std::size_t row = 0; row < expectation.rows.size(); ++row)
      add((rows_alone ? row : expectation.rows[row]) * length, row * length, length);
  }

  double value_at(std::size_t place) const { return element_value(output_.type, bytes_, place); }
  std::string name_of(std::size_t place) const {
    const std::size_t length = expectation_.limits.row_elements;
    return element_name(
        output_, rows_alone_ ? expectation_.rows[place / length] * length + place % length : place);
  }

  // An element by its place in the bytes, and what was said of it.
  struct Place {
    std::size_t element = 0;
    double exact = 0;
    double bound = 0;
  };
  std::size_t not_finite = 0, unwritten = 0, wrong = 0;
  Place first_not_finite, worst;  // of use only where there is one
  double worst_ratio = 0;
  double error_energy = 0, exact_energy = 0;
  double scaled_energy = 0;
  std::size_t scaled = 0;  // elements of it: those with a bound above 0

 private:
  // Of nothing yet.
  Errors(const problem::Tensor& output, std::span<const std::byte> bytes,
         const problem::Expectation& expectation)
      : output_(output), bytes_(bytes), expectation_(expectation) {}

  // All elements, in pieces on all cores; always the same sums.
  void add_whole() {
    const std::size_t count = expectation_.exact.size();
    std::vector<Errors> parts(element_pieces(count), Errors(output_, bytes_, expectation_));
    in_pieces(count, [&](std::size_t first, std::size_t end) {
      parts[first / kElementsOfPiece].add(first, first, end - first);
    });
    for (const Errors& part : parts) add(part);
  }

  void add(const Errors& part) {
    if (not_finite == 0) first_not_finite = part.first_not_finite;
    not_finite += part.not_finite;
    unwritten += part.unwritten;
    wrong += part.wrong;
    if (!(part.worst_ratio <= worst_ratio)) {
      worst_ratio = part.worst_ratio;
      worst = part.worst;
    }
    error_energy += part.error_energy;
    exact_energy += part.exact_energy;
    scaled_energy += part.scaled_energy;
    scaled += part.scaled;
  }

  // Elements of the output from `first` on, which are those of the truth from `known` on.
  void add(std::size_t first, std::size_t known, std::size_t count) {
    std::array<double, kChunk> values{};
    while (count > 0) {
      const std::size_t here = std::min(kChunk, count);
      decode(first, here, values);
      if (here % kWidth != 0 || !add_sound(known, here, values))
        for (std::size_t i = 0; i < here; ++i) add(first + i, known + i, values[i]);
      first += here;
      known += here;
      count -= here;
    }
  }

  void decode(std::size_t first, std::size_t count, std::array<double, kChunk>& values) const {
    if (output_.type == DType::f16) {
      std::array<std::uint16_t, kChunk> halves;
      std::memcpy(halves.data(), bytes_.data() + first * sizeof halves[0],
                  count * sizeof halves[0]);
      for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<double>(from_f16(halves[i]));
      return;
    }
    for (std::size_t i = 0; i < count; ++i)
      values[i] = element_value(output_.type, bytes_, first + i);
  }

  // So many at once, if nothing in them needs a closer look: all finite, all allowed some error,
  // none off by more than that. Whatever is not so makes a sum that is not finite, or a ratio above
  // 1.
  bool add_sound(std::size_t known, std::size_t count, const std::array<double, kChunk>& values) {
    Lanes errors{}, exacts{}, ratios{}, most{};
    for (std::size_t i = 0; i < count; i += kWidth) {
      const Lanes exact = lanes_at(expectation_.exact.data() + known + i);
      const Lanes error = lanes_at(values.data() + i) - exact;
      const Lanes ratio = error / lanes_at(expectation_.bound.data() + known + i);
      const Lanes square = ratio * ratio;
      errors += error * error;
      exacts += exact * exact;
      ratios += square;
      most = square > most ? square : most;
    }
    double worst_square = 0;
    for (std::size_t i = 0; i < kWidth; ++i) worst_square = std::max(worst_square, most[i]);
    if (worst_square > 1 || !std::isfinite(sum_of(errors) + sum_of(exacts) + sum_of(ratios)))
      return false;
    error_energy += sum_of(errors);
    exact_energy += sum_of(exacts);
    scaled_energy += sum_of(ratios);
    scaled += count;
    worst_ratio = std::max(worst_ratio, std::sqrt(worst_square));
    return true;
  }

  void add(std::size_t element, std::size_t known, double value) {
    const double exact = expectation_.exact[known];
    const double bound = expectation_.bound[known];
    if (!std::isfinite(value) && value != exact) {
      if (not_finite++ == 0) first_not_finite = {element, exact};
      if (is_untouched(output_, bytes_, element)) ++unwritten;
      return;
    }
    const double error = value == exact ? 0 : std::abs(value - exact);
    const double ratio = ratio_of(error, bound);
    // In this form a NaN, which compares as false with everything, is an error.
    if (!(error <= bound)) ++wrong;
    if (!(ratio <= worst_ratio)) {
      worst_ratio = ratio;
      worst = {element, exact, bound};
    }
    error_energy += error * error;
    if (std::isfinite(exact)) exact_energy += exact * exact;
    if (bound > 0) {
      scaled_energy += ratio * ratio;
      ++scaled;
    }
  }

  const problem::Tensor& output_;
  std::span<const std::byte> bytes_;
  const problem::Expectation& expectation_;
  bool rows_alone_ = false;
};

}  // namespace

std::string element_name(const problem::Tensor& tensor, std::size_t element) {
  std::string index;
  for (const std::int64_t dim : std::views::reverse(tensor.dims)) {
    const auto size = static_cast<std::size_t>(dim);
    index = std::to_string(element % size) + (index.empty() ? "" : "," + index);
    element /= size;
  }
  return tensor.name + "[" + index + "]";
}

double element_value(DType type, std::span<const std::byte> bytes, std::size_t element) {
  return get_number(type, bytes.data() + element * size_of(type));
}

std::string element_text(DType type, std::span<const std::byte> bytes, std::size_t element) {
  if (!is_integer(type)) return fmt::format("{}", element_value(type, bytes, element));
  return integer_text(get_integer(type, bytes.data() + element * size_of(type)));
}

std::pair<std::string, std::string> told_apart(double one, double other) {
  constexpr int kEnough = std::numeric_limits<double>::max_digits10;
  for (int digits = 6;; ++digits) {
    std::pair texts{fmt::format("{:.{}g}", one, digits), fmt::format("{:.{}g}", other, digits)};
    if (texts.first != texts.second || digits == kEnough) return texts;
  }
}

std::pair<std::string, std::string> told_apart(DType type, std::span<const std::byte> one,
                                               std::span<const std::byte> other,
                                               std::size_t element) {
  if (is_integer(type))
    return {element_text(type, one, element), element_text(type, other, element)};
  return told_apart(element_value(type, one, element), element_value(type, other, element));
}

bool is_untouched(const problem::Tensor& tensor, std::span<const std::byte> bytes,
                  std::size_t element) {
  const std::size_t size = size_of(tensor.type);
  const auto own = bytes.subspan(element * size, size);
  return std::all_of(own.begin(), own.end(),
                     [](std::byte each) { return each == std::byte{0xff}; });
}

namespace {

// Of few elements by little, as an honest kernel's may be that is less careful than the reference.
constexpr double kLittle = 16;
constexpr const char* kStateOne =
    "; the bound is measured: if such an error is acceptable, state `tolerance: {absolute: , "
    "relative: }` in the space, or --set tolerance.relative=1e-5";

Comparison comparison_of(const problem::Tensor& output, const Errors& errors,
                         const problem::Expectation& expectation) {
  Comparison result;
  const std::size_t elements = expectation.exact.size();
  const std::string elements_text = expectation.sampled() ? " sampled elements" : " elements";
  result.worst_ratio = errors.worst_ratio;
  // Where all is 0 there is nothing to be relative to.
  if (errors.exact_energy > 0 || expectation.rms_bound)
    result.rms = ratio_of(std::sqrt(errors.error_energy), std::sqrt(errors.exact_energy));
  const double scaled_rms =
      errors.scaled == 0 ? 0 : std::sqrt(errors.scaled_energy / static_cast<double>(errors.scaled));

  if (errors.not_finite > 0) {
    const auto& first = errors.first_not_finite;
    result.finding = Finding::kNotFinite;
    result.message =
        fmt::format("{} = {}, expected {:.6g}; {} of {}{} are not finite, {} of them never written",
                    errors.name_of(first.element), errors.value_at(first.element), first.exact,
                    errors.not_finite, elements, elements_text, errors.unwritten);
  } else if (errors.wrong > 0) {
    const auto& worst = errors.worst;
    result.finding = Finding::kWrong;
    const auto [value, exact] = told_apart(errors.value_at(worst.element), worst.exact);
    result.message = fmt::format("{} = {}, expected {}, allowed {:.3g}; {} of {}{} are off",
                                 errors.name_of(worst.element), value, exact, worst.bound,
                                 errors.wrong, elements, elements_text);
    if (expectation.measured && result.worst_ratio < kLittle) result.message += kStateOne;
  } else if (expectation.rms_bound && !(result.rms <= *expectation.rms_bound)) {
    result.finding = Finding::kImprecise;
    const auto [rms, allowed] = told_apart(result.rms, *expectation.rms_bound);
    result.message =
        fmt::format("{}: relative RMS error {}, allowed {}", output.name, rms, allowed);
    if (expectation.measured) result.message += kStateOne;
  } else if (!(scaled_rms <= expectation.scaled_rms_bound)) {
    result.finding = Finding::kImprecise;
    result.message = fmt::format(
        "{}: RMS of the errors is {:.3g} of what an element is allowed, at most {:.3g} may be",
        output.name, scaled_rms, expectation.scaled_rms_bound);
    if (expectation.measured) result.message += kStateOne;
  }
  return result;
}

// What is compared exactly, to the last bit.
Comparison compare_equal(const problem::Tensor& output, std::span<const std::byte> bytes,
                         std::span<const std::byte> expected) {
  const std::size_t size = size_of(output.type), count = expected.size() / size;
  const auto differs = first_difference_of_large(bytes, expected);
  if (!differs) return {};
  std::size_t wrong = 0;
  for (std::size_t i = *differs / size; i < count; ++i)
    wrong +=
        first_difference(bytes.subspan(i * size, size), expected.subspan(i * size, size)) ? 1 : 0;
  const std::size_t first = *differs / size;
  const auto [value, wanted] = told_apart(output.type, bytes, expected, first);
  const bool no_bool = output.type == DType::boolean && bytes[first] > std::byte{1};
  Comparison result;
  result.finding = Finding::kWrong;
  result.worst_ratio = std::numeric_limits<double>::infinity();
  result.message =
      fmt::format("{} = {}{}, expected {}; {} of {} elements are off", element_name(output, first),
                  value, no_bool ? ", which is no bool (0 or 1)" : "", wanted, wrong, count);
  return result;
}

}  // namespace

Comparison compare(const problem::Tensor& output, std::span<const std::byte> bytes,
                   const problem::Expectation& expectation) {
  if (!expectation.equal.empty()) return compare_equal(output, bytes, expectation.equal);
  if (expectation.sampled()) {
    Comparison outside = compare_with_limits(output, bytes, expectation.limits);
    if (outside.finding != Finding::kPassed) return outside;
  }
  return comparison_of(output, Errors(output, bytes, expectation, false), expectation);
}

Comparison compare_rows(const problem::Tensor& output, std::span<const std::byte> rows,
                        const problem::Expectation& expectation) {
  return comparison_of(output, Errors(output, rows, expectation, true), expectation);
}

}  // namespace fa_tune::gate
