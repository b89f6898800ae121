#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "engine/gate/gate.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune {

// "O[0,1,76,3]": the element's index in each dimension.
std::string element_name(const Tensor& tensor, std::size_t element);
double element_value(DType type, std::span<const std::byte> bytes, std::size_t element);
// Two numbers with as few digits, from 6 on, as show that they differ, if they do.
std::pair<std::string, std::string> told_apart(double one, double other);
// Was this element left as the gate had filled it: all ones?
bool is_untouched(const Tensor& tensor, std::span<const std::byte> bytes, std::size_t element);

// What came out against what is right.
struct Comparison {
  std::string finding = Finding::right;  // or not_finite, wrong, imprecise
  std::string message;                   // one line; empty if right
  double worst_ratio = 0;                // error / bound; of the finite elements
  double rms = 0;                        // ||error|| / ||exact||
};

// Where the truth is of some rows only, those are compared, and all elements with the limits.
Comparison compare(const Tensor& output, std::span<const std::byte> bytes,
                   const Expectation& expectation);

// The same of a tensor that is within the limits, by the rows whose truth is known and which alone
// `rows` holds, one after another.
Comparison compare_rows(const Tensor& output, std::span<const std::byte> rows,
                        const Expectation& expectation);

// Elements that are not finite where the limits are, or outside them: not_finite or wrong.
Comparison compare_with_limits(const Tensor& output, std::span<const std::byte> bytes,
                               const ValueBounds& limits);

}  // namespace fa_tune
