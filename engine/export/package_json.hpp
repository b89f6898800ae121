#pragma once

#include <nlohmann/json.hpp>

#include "engine/export/package.hpp"

namespace fa_tune::exports {

// A call in figures:
//   {"kernel": 0, "device": "NVIDIA H100 80GB HBM3", "capability": [9, 0], "shape": {...},
//    "grid": [x, y, z], "block": [...], "cluster": [...], "shared": bytes,
//    "cooperative": true,                                if all blocks must run at once
//    "programmatic": true,                               if it begins before the one in front ends
//    "tensors": [{"name", "role", "type", "dims"}],       row-major, innermost dimension last
//    "arguments": [{"tensor": name} |
//                  {"scalar": name, "type", "value", "bytes", "own"} |
//                  {"map": name, "tensor", "type", "box", "swizzle", "axes"}],
//    "constants": [names of tensors that `__constant__` variables of those names hold]}
// Of several steps "steps" stands for grid, block, cluster, shared and arguments:
//   [{"entry": name in the code, and these five} | {"set": tensor, "value": of each byte} |
//    {"copy": tensor, "to": tensor}]
// "axes" of a tensor map, innermost dimension first: [dimension of the tensor, modulo, divisor]. It
// is as large as the dimension, or as `modulo` where that is not 0, else the divisor-th part.
// "bytes" of a scalar are there if it has several numbers, which "value" lists, or one of 8 bits.
// Where the call is for any sizes, "any_size" has the formulas (any_size.hpp).
// "choice" is the number by which a package's dispatch asks for it.
// "own": true where it is the template's or follows from the sizes, so that nobody sets it.
nlohmann::ordered_json call_json(const Package& package, const PackagedCall& call);

// Its number, or a list of its numbers.
nlohmann::ordered_json scalar_json(const problem::Scalar& scalar);

// Throws UserError unless all calls take the same tensors (names, types, roles) and scalars in one
// order: what one typed function can launch.
void check_one_signature(const Package& package);

// A dimension of a tensor map, where the tensor is closely packed.
struct MapDimension {
  std::size_t of_tensor = 0;  // dimension of the tensor that it is, or is a part of
  std::int64_t modulo = 0;    // 0: all of it
  std::int64_t divisor = 1;
  std::int64_t size = 0;
  std::int64_t stride_bytes = 0;
};
// Innermost first. Throws UserError for an axis that the tensor does not have.
std::vector<MapDimension> map_axes(const MappedTensor& map,
                                   const std::vector<problem::Tensor>& tensors);

// Names that both forms of function go by, in the order in which the kernel takes them, or the steps
// come to them; tensors of `__constant__` variables last. Scalars of the template's own are left out.
std::vector<problem::Tensor> tensors_in_order(const PackagedCall& call);
std::vector<problem::Scalar> scalars_in_order(const PackagedCall& call);

}  // namespace fa_tune::exports
