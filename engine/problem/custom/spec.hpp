#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/expression/expression.hpp"
#include "engine/kernel/template/template.hpp"
#include "engine/problem/problem.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::problem {

// A problem that a space describes itself:
//
//   problem:
//     kind: custom
//     sizes: [{n: 1000000}, {n: 1}, {n: 1000}]  # the first is timed, all are gated; or one map
//     hidden: {n: [1, 3000]}                    # sizes that each run draws for itself; may be left
//                                               # out, and should where a kernel takes any size
//     arguments:                                # of the kernel, in its order
//       - {name: x, type: f32, shape: [n]}
//       - {name: y, type: f32, shape: [n], role: inout}
//       - {name: a, type: f32, value: 2.5}
//       - {name: n, type: i32, value: n}
//     reference:                                # the truth: a template's manifest, of no
//     parameters
//       source: plain.cu
//       kernel: scale_add_plain
//       launch: {grid: ["ceil_div(problem.n, 256)"], block: [256]}
//
// A buffer with `constant: true` is what the `__constant__` variable of its name holds, 64 KiB at
// most. It is no argument, unless the `arguments` of a template or the reference list it. Types are f16, bf16, f32, f64 and i32. What has a shape is a buffer, with
// the role input (if none is given), output, inout or workspace; what has a value is a scalar.
// Shapes and values are expressions of the sizes (a value may be a real number).
//
// `fill` says what a buffer holds that is given: normal, which is {normal: [0, 1]} (mean and
// deviation) and what floats get without it; {uniform: [low, high]}, {integers: [least, most]} or
// {value: x}. Each kind of input that the gate tries (enum Inputs) bends a distribution its own
// way: a normal one becomes wider, narrower, mirrored, with a few elements thirty times as large,
// constant in each row; the others do not leave their bounds.
//
// Two kinds more need not have a truth, and are left out where the reference is not finite: zeros,
// numbers below the normal ones and the ends of the distribution; and a few elements hundreds of
// deviations away (not where a `tolerance` is stated). With them float scalars that do not follow
// from sizes are others, from half to twice what is stated (0 stays 0): `vary: [low, high]` beside
// the `value` says between what, `vary: false` that there is one value alone.
//
// Instead of a reference, `expected: {y: y.npy}` names a .npy file for each output, of its type or
// of float64. It knows one set of data alone: buffers that are given must be filled with {file:
// x.npy} or {value: x}, sizes must be one map, and a `tolerance` must say how far off an element
// may be. The gate then has one kind of input and no other truth to hold a kernel to that does not
// look at it. Files lie in the space's folder, and are known by their SHA-256 from then on.
//
// Also, each may be left out: `defines: {N: n}`, #define lines for the kernels; `tolerance:
// {absolute: 1e-6, relative: 1e-5}`, what an element may be off by, in place of what tolerance.hpp
// finds; `flop` and `bytes`, expressions for the least that a kernel must do, which a time is held
// against (without them: that it writes its outputs).

struct Distribution {
  enum class Kind { normal, uniform, integers, value, file };
  Kind kind = Kind::normal;
  double first = 0;   // mean, low, least or the value
  double second = 1;  // deviation, high or most
  std::string file = {};
};

struct CustomArgument {
  std::string name;
  DType type = DType::f32;
  std::optional<Role> role;  // none: a scalar
  bool constant = false;
  std::vector<expression::Expression> shape;
  Distribution fill;
  std::optional<expression::Expression> value;  // of a scalar
  double real = 0;                              // its value where there is no expression
  struct Range {
    double least = 0, most = 0;
  };
  std::optional<Range> vary;  // of a scalar: what other values the gate may draw
  bool fixed = false;         // none
  Mark mark;
};

// What the space's text says of a .npy file of its own.
struct ArrayFile {
  std::filesystem::path at;
  std::string sha256;
};

struct Tolerance {
  double absolute = 0;
  double relative = 0;  // to the exact value
};

struct DrawnSize {
  std::string name;
  std::int64_t least = 1;
  std::int64_t most = 1;
};

struct CustomSpec {
  std::vector<Constants> sizes;  // the timed ones first
  std::vector<DrawnSize> hidden;
  std::vector<CustomArgument> arguments;
  std::vector<std::pair<std::string, expression::Expression>> defines;
  std::optional<kernel::Template> reference;    // or
  std::map<std::string, std::string> expected;  // a file of `arrays` for each result
  std::map<std::string, ArrayFile> arrays;
  std::optional<Tolerance> tolerance;
  std::optional<expression::Expression> flop, bytes;
};

// From the root of a space's text. Throws UserError with line and column.
CustomSpec read_custom(const YamlNode& space);

// The value of an expression of sizes, by their names or behind "problem.". Throws UserError.
std::int64_t evaluate(const expression::Expression& expression, const Constants& sizes);

// "f32".
std::string type_name(DType type);

}  // namespace fa_tune::problem
