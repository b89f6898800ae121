#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "engine/gate/gate.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune::gate {

// "O[0,1,76,3]": the element's index in each dimension.
std::string element_name(const problem::Tensor& tensor, std::size_t element);
double element_value(DType type, std::span<const std::byte> bytes, std::size_t element);
// "3.5"; of an integer all its digits.
std::string element_text(DType type, std::span<const std::byte> bytes, std::size_t element);
// Two numbers as text, with as few digits (at least 6) as show that they differ.
std::pair<std::string, std::string> told_apart(double one, double other);
// The same element of two tensors.
std::pair<std::string, std::string> told_apart(DType type, std::span<const std::byte> one,
                                               std::span<const std::byte> other,
                                               std::size_t element);
// Whether this element is still as the gate filled it: all ones.
bool is_untouched(const problem::Tensor& tensor, std::span<const std::byte> bytes,
                  std::size_t element);

// How an output compares with the expected one.
struct Comparison {
  std::string finding = Finding::kPassed;  // or not_finite, wrong, imprecise
  std::string message;                     // one line; empty if passed
  double worst_ratio = 0;                  // error / bound; of the finite elements
  double rms = 0;                          // ||error|| / ||exact||
};

// Compares an output with the expected one. If that is of some rows only, it compares those, and
// all elements with the limits.
Comparison compare(const problem::Tensor& output, std::span<const std::byte> bytes,
                   const problem::Expectation& expectation);

// The same for a tensor that is known to be within the limits. `rows` holds only the rows whose
// expected values are known, one after another.
Comparison compare_rows(const problem::Tensor& output, std::span<const std::byte> rows,
                        const problem::Expectation& expectation);

// Finds elements that are outside the limits, or not finite where the limits are: wrong or
// not_finite.
Comparison compare_with_limits(const problem::Tensor& output, std::span<const std::byte> bytes,
                               const problem::ValueBounds& limits);

}  // namespace fa_tune::gate
