#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/expression/stated_number.hpp"
#include "engine/kernel/template/template.hpp"
#include "engine/problem/custom/fill.hpp"
#include "engine/problem/custom/type.hpp"
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
// most. It is no argument, unless the `arguments` of a template or the reference list it. What has a
// shape is a buffer, with the role input (if none is given), output, inout, workspace or unchecked
// (given, written over, and compared with nothing); what has a value is a scalar. Shapes and values are expressions of the sizes (a value may be a real number).
//
// Types are f16, bf16, f32, f64, e4m3, e5m2, i8, u8, i16, u16, i32, u32, i64, u64 and bool; vectors
// of these (f32x4 is float4); complex64 and complex128; and for scalars {struct: [{x: f32}, {n:
// i32}]}, which lies as C has it, padding being 0. Names of C, CUDA and NumPy are taken for them
// (type.hpp). The value of a vector or a complex number is a list, of a struct a map of its fields.
// A buffer of vectors has one dimension more, the last, in messages and .npy files; NumPy has
// complex numbers itself.
//
// Integers and bools are compared exactly, to the last bit; a bool must be 0 or 1.
//
// `fill` says what a buffer holds that is given: normal, which is {normal: [0, 1]} (mean and
// deviation) and what floats get without it; {uniform: [low, high]}, {integers: [least, most]}
// (expressions of the sizes, as in {integers: [0, n - 1]}; bools are drawn from 0 and 1 without
// it), {value: x}, {permutation: n} (each row holds 0 to n - 1, each once) or {offsets: n} (each
// row ascends from 0 to n, as offsets of rows do in a sparse matrix). `sorted: true` beside a
// distribution makes each row ascend. Each kind of input that the gate tries (enum Inputs) bends a
// distribution its own way: a normal one becomes wider, narrower, mirrored, with a few elements
// thirty times as large, constant in each row; the others do not leave their bounds. `inputs:
// [normal, tripled]` in the problem names the kinds that the gate uses, where others make no sense
// for a kernel; normal, which is timed, must be among them.
//
// Two kinds more need not have a truth, and are left out where the reference is not finite: zeros,
// numbers below the normal ones and the ends of the distribution; and a few elements hundreds of
// deviations away (not where a `tolerance` is stated). With them float scalars that do not follow
// from sizes are others, from half to twice what is stated (0 stays 0): `vary: [low, high]` beside
// the `value` says between what, `vary: false` that there is one value alone.
//
// Instead of a reference, `expected: {y: y.npy}` names a .npy file for each output, of its type or,
// for floating types, of float64. It knows one set of data alone: buffers that are given must be
// filled with {file: x.npy} or {value: x}, sizes must be one map, and where an output is of a
// floating type a `tolerance` must say how far off its elements may be. The gate then has one kind
// of input and no other truth to hold a kernel to that does not look at it. Files lie in the
// space's folder, and are known by their SHA-256 from then on.
//
// Also, each may be left out: `defines: {N: n}`, #define lines for the kernels; `tolerance:
// {absolute: 1e-6, relative: 1e-5}`, what an element of a floating type may be off by, in place of
// what tolerance.hpp finds; `flop` and `bytes`, expressions for the least that a kernel must do, which a time is held
// against (without them: that it writes its outputs).

struct CustomArgument {
  std::string name;
  CustomType type;
  std::optional<Role> role;  // none: a scalar
  bool constant = false;
  std::vector<expression::Expression> shape;
  Distribution fill;
  // Of a scalar: of each of its type's parts.
  std::vector<expression::StatedNumber> numbers;
  struct Range {
    double least = 0, most = 0;
  };
  std::optional<Range> vary;  // of a scalar: what other values the gate may draw
  bool fixed = false;         // none
  Mark mark;

  // Of what is a buffer, or a scalar of one number.
  DType number() const { return type.number; }
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
  std::optional<kernel::Template> reference;  // or
  Mark reference_mark;
  std::map<std::string, std::string> expected;  // a file of `arrays` for each result
  std::map<std::string, ArrayFile> arrays;
  std::optional<Tolerance> tolerance;
  std::vector<Inputs> inputs;  // the kinds that the gate uses; none: all
  std::optional<expression::Expression> flop, bytes;
};

// From the root of a space's text. Throws UserError with line and column.
CustomSpec read_custom(const YamlNode& space);

// What its arguments are at any sizes. Throws UserError with the place of what is of one size.
SizeFormulas formulas_of(const CustomSpec& spec);

// Sizes by their names or behind "problem."; they must outlive it.
expression::Expression::Scope scope_of_sizes(const Constants& sizes);
// The value of an expression of sizes. Throws UserError.
std::int64_t evaluate(const expression::Expression& expression, const Constants& sizes);

}  // namespace fa_tune::problem
