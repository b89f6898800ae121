#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/problem/problem.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::problem {

// What an argument of a custom problem is declared as: a number; a vector of two to four, as CUDA's
// float4, which is f32x4; a complex number, complex64 of two floats or complex128; or a struct of
// these, which is for scalars alone. A buffer of vectors is one of their numbers with a dimension
// more, the last: that is how it lies in memory, with float3's 12 bytes too.
struct CustomField;
struct CustomType {
  DType number = DType::f32;
  int lanes = 1;
  bool complex = false;             // of two lanes
  std::vector<CustomField> fields;  // of a struct, which has no number

  bool is_struct() const;
  bool is_number() const { return lanes == 1 && !is_struct(); }
};

struct CustomField {
  std::string name;
  CustomType type;
};

inline bool CustomType::is_struct() const { return !fields.empty(); }

// Throws UserError with the known types for another one. C's, CUDA's and NumPy's names of a type
// are taken too (`unsigned int`, `size_t`, `__half`, `float4`, `int64`).
CustomType read_type(const YamlNode& node);

// "f32", "f32x4", "complex64", "struct {x: f32, n: i32}".
std::string type_name(const CustomType& type);

// By the rules of C and of CUDA's vector types (CUDA C++ Programming Guide, "Built-in Vector
// Types": three lanes are aligned as one, and nothing to more than 16 bytes).
struct TypeLayout {
  std::size_t size = 0, alignment = 1;
  std::vector<ScalarPart> parts;  // its numbers, in order
};
TypeLayout layout_of(const CustomType& type);

// With f64 for all floating types.
CustomType widened(const CustomType& type);

}  // namespace fa_tune::problem
