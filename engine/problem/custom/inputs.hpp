#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/problem/custom/spec.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune::problem {

// The arguments at one shape with data. The same shape, kind and seed give the same bytes on every
// machine. Throws UserError, before anything is allocated, for a size that is not above 0, for
// more bytes than a problem may have, and for a scalar that its type cannot hold.
Instance make_custom(const CustomSpec& spec, const Constants& sizes, Inputs inputs,
                     std::uint64_t seed);

// The same without data: what there is and how large.
Instance describe_custom(const CustomSpec& spec, const Constants& sizes);

// What the elements of a type are.
std::vector<double> numbers_of(DType type, std::span<const std::byte> bytes);
// The same of as many as `numbers` has room for, in the calling thread alone.
void read_numbers(DType type, std::span<const std::byte> bytes, std::span<double> numbers);

// With the tensors and scalars of floating types as f64, which hold the very same numbers. In the
// memory of an earlier one, if there is one: to get fresh memory takes longer than to fill it.
Instance widened(const CustomSpec& spec, const Instance& instance, Instance memory = {});

// A tensor like another, with other contents.
Tensor with_contents(const Tensor& tensor, DType type, std::vector<std::byte> bytes);

// The bytes of a tensor that a .npy file fills, whose type and shape must be the tensor's (bf16 as
// "<u2"). Throws UserError for a file that does not fit, is larger than a tensor of that shape can
// be, or is not the one that the space's text knows.
std::vector<std::byte> array_bytes(const CustomSpec& spec, const std::string& file,
                                   const Tensor& tensor);

// The numbers of a file of the tensor's shape, of its type or of float64. Throws the same, and for
// numbers that are not finite.
std::vector<double> array_values(const CustomSpec& spec, const std::string& file,
                                 const Tensor& tensor);

}  // namespace fa_tune::problem
