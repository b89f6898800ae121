#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/expression/residue.hpp"
#include "engine/model/dtype.hpp"
#include "engine/source/source_lines.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune::kernel {
class Template;
}  // namespace fa_tune::kernel

namespace fa_tune::problem {

// A workspace is the kernel's to write and read back; what it held before a launch must not matter.
// An inout tensor is read and then written over: after a second launch it holds something else. So
// is an unchecked one, and what it holds then is right whatever it is.
enum class Role { input, output, workspace, inout, unchecked };

// Whether it holds data before a launch, and results after one.
constexpr bool is_given(Role role) {
  return role == Role::input || role == Role::inout || role == Role::unchecked;
}
// Whether a launch changes what it was given.
constexpr bool is_written_over(Role role) { return role == Role::inout || role == Role::unchecked; }
constexpr bool is_result(Role role) { return role == Role::output || role == Role::inout; }

// Data of one argument, row-major, innermost dimension last.
struct Tensor {
  std::string name;
  DType type = DType::f16;
  Role role = Role::input;
  std::vector<std::int64_t> dims;  // elements
  std::vector<std::byte> bytes;    // of what is given alone
  std::string axes = {};           // a letter for each dimension, by which a tensor map asks for it
  bool constant = false;           // also what the `__constant__` variable of its name holds
  bool complex = false;            // the last dimension is the two parts of complex numbers
  bool entire = false;             // its elements make sense only beside each other, as when sorted

  std::int64_t elements() const;
};

// One number of a scalar argument: of a plain one all of it, without a name.
struct ScalarPart {
  std::string name;  // "x", "position.y"
  DType type = DType::i32;
  std::size_t offset = 0;  // bytes
};

struct Scalar {
  std::string name;
  std::vector<std::byte> bytes;  // as the kernel takes it
  DType type = DType::i32;
  std::vector<ScalarPart> parts =
      {};            // of a vector, a complex number or a struct, which has no type
  bool own = false;  // a template's, which follows from its config: nobody sets it

  bool plain() const { return parts.empty(); }
};

// Its numbers, whatever it is.
std::vector<ScalarPart> parts_of(const Scalar& scalar);

// How the inputs are drawn. Each catches faults the others hide.
enum class Inputs {
  normal,         // N(0, 1)
  tripled,        // N(0, 3): a peaked softmax
  small,          // N(0, 0.01): a flat one
  negated,        // -N(0, 1) of the same seed: the result must move as the oracle's does
  large_logits,   // a few keys dominate by more than 100 in the exponent, or all lie as far below 0
  distinct_rows,  // every row of V is a constant of its own, so a wrong row shows
  // Of custom problems alone, with other scalars too.
  rare,    // zeros, numbers below the normal ones, the ends of what is drawn from
  extreme  // a few elements hundreds of times as large as the others
};

std::string to_text(Inputs inputs);
// Those of custom problems alone, which come with other scalars too.
constexpr bool varies_scalars(Inputs inputs) {
  return inputs == Inputs::rare || inputs == Inputs::extreme;
}
// Whether a problem may have no truth of such inputs: a reference may leave what it can tell, as
// expf does above 88, by the luck of one draw.
constexpr bool may_lack_truth(Inputs inputs) {
  return varies_scalars(inputs) || inputs == Inputs::large_logits;
}

// A problem at one shape with data: what a kernel is given.
struct Instance {
  Constants shape;  // "B", "H", "Lq", ...; see Problem::shape
  Inputs inputs = Inputs::normal;
  std::uint64_t seed = 0;
  std::vector<Tensor> tensors;  // inputs, outputs, workspaces
  std::vector<Scalar> scalars;
};

// Between what the elements of a tensor must lie, known of all of them where the truth itself would
// cost too much. Rows of memory, `row_elements` long, share ranges.
struct ValueBounds {
  std::size_t row_elements = 0;
  std::vector<std::uint32_t> range_of_row;  // of each row of the tensor, as they lie in memory
  std::vector<float> least, most;           // [ranges][row_elements]; both may be met
};

// What is right for one output tensor, and how far from it an element may be. The bound is made
// from the error of a trusted computation in the kernel's own precision, so it scales with the
// data.
struct Expectation {
  std::string tensor;
  std::vector<double> exact;  // computed in float64
  std::vector<double> bound;  // |kernel - exact| must be <= this, element by element
  // Of integers these bytes alone: they must be equal, and no double holds all of 64 bits.
  std::vector<std::byte> equal = {};
  // ||kernel - exact|| / ||exact|| must be <= this; nothing where nothing is said of it, as where
  // all of the truth is 0.
  std::optional<double> rms_bound = {};
  // The root mean square of |kernel - exact| / bound, over the elements whose bound is not 0, must
  // be
  // <= this. Every row counts the same here; in the ratio above rows with large errors drown
  // others.
  double scaled_rms_bound = 1;
  // Of a large tensor `exact` and `bound` are of these rows only, one after another: places in
  // memory, in units of limits.row_elements. What lies elsewhere must be within the limits. Empty
  // where they are of every element, and then there are no limits.
  std::vector<std::uint32_t> rows = {};
  ValueBounds limits = {};
  // Whether the bounds were found by measuring, so that a space could state others.
  bool measured = false;

  bool sampled() const { return !rows.empty(); }
};

// How many of a large shape's rows Problem::expect() gives the truth of.
enum class Truth {
  usual,    // so that it takes a second or two of 16 cores: for trials
  thorough  // several times as many, for what is told to others
};

// Whether, and of how many rows, a truth is of a sample.
struct Coverage {
  std::int64_t rows = 0;   // whose truth is computed; a few more or less, as they are drawn
  std::int64_t of = 0;     // rows of the output
  std::int64_t every = 1;  // at least one of this many neighbours is among them; 1: these are all
};

enum class SuiteName {
  quick,   // small, every kind of hard shape; for each trial
  ragged,  // lengths that fit no tile
  seven,   // what is often benchmarked
  ten,     // the same with odd ones and long ones
  mission  // the timed shape
};

std::string to_text(SuiteName name);

// A list of shapes the gate tries, each with some kinds of input.
struct Suite {
  SuiteName name = SuiteName::quick;
  std::vector<Constants> shapes;
  std::vector<Inputs> kinds = {Inputs::normal,  Inputs::tripled,      Inputs::small,
                               Inputs::negated, Inputs::large_logits, Inputs::distinct_rows};
  // The data is what it is: other kinds of input, or a changed one, there are none.
  bool given = false;
};

// What a problem's tensors and scalars are at sizes that are known later.
struct SizeFormulas {
  std::vector<std::string> sizes;
  std::map<std::string, std::vector<expression::Residue>> dims;  // of each tensor
  std::map<std::string, expression::Residue> scalars;            // those that rest on sizes
  // Other members of a complete shape that rest on sizes.
  std::map<std::string, expression::Residue> follows = {};
  // What a change of a space (space_settings.hpp) has before the name of one of `sizes`.
  std::string setting = "sizes.";
};

class ReferenceRunner;  // reference.hpp

// How many hidden shapes a run draws.
inline constexpr int kHiddenShapes = 3;

// What is computed: shapes, inputs, the truth, and what a kernel must be told at compile time. The
// engine knows of attention only what stands behind this interface.
class Problem {
 public:
  virtual ~Problem() = default;

  virtual std::string kind() const = 0;
  // The shape that is timed. A setting at its default may be left out: what a shape is stored and
  // told as does not change when a problem learns a new one.
  virtual const Constants& shape() const = 0;
  // The same with nothing left out: every name an expression may use after "problem.".
  virtual Constants complete(const Constants& shape) const { return shape; }
  // "B=1 H=8 Lq=512 Lk=512 D=64 fp16": one line for a person.
  virtual std::string describe(const Constants& shape) const = 0;

  // At most one of each name. All keep what a compiled kernel fixes (D, dtype, ...); `quick` and
  // `ragged` keep `causal` as the timed shape has it.
  virtual std::vector<Suite> suites() const = 0;
  // Shapes that nobody could have written a kernel for in advance: drawn from the seed, together
  // less work than `quick`, and keeping what `quick` keeps. None where sizes are fixed.
  virtual std::vector<Constants> hidden_shapes(std::uint64_t seed) const;

  // #define lines a kernel for this shape needs. Two shapes with equal defines share a binary.
  virtual std::vector<std::pair<std::string, std::string>> defines(
      const Constants& shape) const = 0;

  // The same for all sizes. Throws UserError where a kernel is of one size alone.
  virtual SizeFormulas size_formulas() const;

  virtual Instance make(const Constants& shape, Inputs inputs, std::uint64_t seed) const = 0;
  // The same without data: what a kernel is given, for those who will give it something else.
  virtual Instance outline(const Constants& shape) const;
  // One for each output. Which rows a sampled truth is of, the instance's seed draws.
  virtual std::vector<Expectation> expect(const Instance& instance, Truth truth) const = 0;
  virtual Coverage coverage(const Constants& shape, Truth truth) const {
    static_cast<void>(shape), static_cast<void>(truth);
    return {};
  }

  // What the gate does not do as it usually does, each a sentence for a person.
  virtual std::vector<std::string> notes() const { return {}; }

  // What a host passes for each name that manifests use, in words: type, sizes, meaning.
  virtual std::vector<std::pair<std::string, std::string>> argument_notes(
      const Constants& shape) const {
    static_cast<void>(shape);
    return {};
  }

  // What a kernel takes that names no arguments itself, in order; nothing if it must.
  virtual std::vector<std::string> argument_names() const { return {}; }
  // Tensors that a kernel finds in its `__constant__` variables.
  virtual std::vector<std::string> constant_names() const { return {}; }
  // The kernel that the truth comes from, as it was given; nullptr if there is none.
  virtual const kernel::Template* plain_kernel() const { return nullptr; }
  // Whether its data are in files of this machine's.
  virtual bool reads_files() const { return false; }
  // Whether the truth comes from a kernel, which somebody must run for it before expect() is asked.
  virtual bool wants_reference() const { return false; }
  // Where the lines of a space's sources come from, for messages.
  virtual void locate(const source::SourceMaps& lines) { static_cast<void>(lines); }
  // By value, for those that keep it. NOLINTNEXTLINE(performance-unnecessary-value-param)
  virtual void use_reference(std::shared_ptr<ReferenceRunner> runner) { static_cast<void>(runner); }

  // The least a kernel must do at this shape, for rooflines: operations and compulsory bytes.
  virtual double flop(const Constants& shape) const = 0;
  virtual double bytes(const Constants& shape) const = 0;
  // How many of these operations tensor cores do in the time of one on 16-bit elements.
  virtual double tensor_speed() const { return 1; }
};

// The problem's suite of that name, if it has one.
std::optional<Suite> find_suite(const Problem& problem, SuiteName name);
// Its suites of these names, in its own order, all if there are none. Throws UserError for a name
// that is none of them.
std::vector<Suite> chosen_suites(const Problem& problem, const std::vector<std::string>& names);

}  // namespace fa_tune::problem
