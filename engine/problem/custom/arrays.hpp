#pragma once

#include <string>
#include <vector>

#include "engine/problem/custom/spec.hpp"

namespace fa_tune {

// The bytes of a tensor that a .npy file fills, whose type and shape must be the tensor's (bf16 as
// "<u2"). Throws UserError for a file that does not fit, is larger than a tensor of that shape can
// be, or is not the one that the space's text knows.
std::vector<std::byte> array_bytes(const CustomSpec& spec, const std::string& file,
                                   const Tensor& tensor);

// The numbers of a file of the tensor's shape, of its type or of float64. Throws the same, and for
// numbers that are not finite.
std::vector<double> array_values(const CustomSpec& spec, const std::string& file,
                                 const Tensor& tensor);

}  // namespace fa_tune
