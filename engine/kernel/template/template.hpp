#pragma once

#include <cstdint>
#include <expected>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/expression/stated_number.hpp"
#include "engine/kernel/template/formulas.hpp"
#include "engine/model/bottleneck.hpp"
#include "engine/model/kernel_image.hpp"
#include "engine/source/compiler_policy.hpp"
#include "engine/source/source_lines.hpp"
#include "engine/space/space.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune {
class YamlNode;
}  // namespace fa_tune

namespace fa_tune::kernel {

// A gene and what it has a say in: where one of these limits a kernel, another value may help.
struct GeneMoves {
  std::string gene;
  std::vector<Bottleneck> limits;
};

// Where a source's text comes from, for messages alone.
struct Origin {
  source::SourceLines lines;
  std::vector<std::string> defined;                   // names of its #define lines
  std::vector<std::string> template_parameters = {};  // parameters that have none
};

// The text of one variant, complete in itself, and the name of its kernel: that of a function, or
// an instance of a function template ("scale<256, float>").
struct Source {
  std::string text;
  std::string kernel;
  std::string hash;                           // SHA-256 of the text
  std::shared_ptr<const Origin> origin = {};  // none where only the text is known
  std::vector<std::string> more = {};         // further kernels, each once: see Template::kernels
};

// A kernel template: a real CUDA file and a manifest beside it that says what the file takes and
// how it is launched.
//
//   # kernel_templates/attention/mma.yaml
//   source: mma.cu
//   kernel: attention_mma               # a __global__ function, or "name<BLOCK_M, float>"
//   problem: attention
//   parameters: [BLOCK_M, BLOCK_N, WARPS]
//   derived:
//     THREADS: WARPS * 32
//     SHARED_BYTES: (BLOCK_M + 2 * BLOCK_N) * problem.D * 2
//   requires:
//     - {expr: BLOCK_M % (WARPS * 16) == 0, because: every warp owns whole 16-row tiles}
//   launch:
//     grid: [ceil_div(problem.Lq, BLOCK_M), problem.H, problem.B]
//     block: [THREADS, 1, 1]
//     shared: SHARED_BYTES
//   arguments: [Q, K, V, O, Lq, Lk, scale]
//
// Where a kernel needs more than its target's common instructions, or takes tensor maps:
//
//   arch: sm_90a                        # compile for this; the target must be an sm_90
//   arguments: [Q_map, ...]
//   maps:                               # `const __grid_constant__` parameters of 128 bytes
//     Q_map: {tensor: Q, box: [64, BLOCK_M, 1, 1], axes: [D, S, H, B], swizzle: 128}
//
// A box and its axes are given innermost dimension first, as the tensor map has them; without axes
// they are the tensor's as they lie in memory. `H % 4` and `H / 4` make two dimensions of one axis.
//
// An argument that the kernel takes for some problems or configs only: {name: LSE, when:
// problem.lse}.
//
// Where one launch does not do, `steps` stand in the place of `kernel`, `launch`, `arguments` and
// `maps`. They run one after another, each when all before it is done, and are gated, timed and
// counted as one:
//
//   workspaces:                         # a template of one kernel may have these two as well
//     partials: {type: f32, shape: [SPLIT, problem.m, problem.n]}
//   scalars:                            # numbers that kernels take
//     parts: {type: i32, value: "ceil_div(problem.n, THREADS)"}
//   steps:
//     - {set: counts, value: 0}         # in every byte: 0 to 255
//     - kernel: split_k_partial<SPLIT>
//       launch: {grid: [...], block: [...]}
//       arguments: [A, B, partials, K]
//     - {copy: total, to: result}       # from one tensor to another of as many bytes
//     - kernel: split_k_sum
//       when: SPLIT > 1                 # of any step: else it is left out
//       launch: {grid: [...], block: [...]}
//       arguments: [partials, C, parts]
//
// A workspace is the template's own memory. Nothing may rest on what is in it before the first
// step. A scalar is the template's own argument: its value may rest on parameters, derived values,
// sizes and the device, and is as exact as the type. Types of both are those of DType.
//
// `optional: {PACK_HEADS: false}` are parameters that a space may leave out, and their values then.
//
// `moves: {STAGES: [latency, shared_memory], ...}` says for people and for `fa-tune profile` which
// limits a parameter moves (bottleneck.hpp), those that say most first. It decides nothing.
//
// `options: [--use_fast_math, --maxrregcount=REGS]` are the compiler's: those that
// compiler_policy.hpp knows. Names of parameters stand for their values there, and in the kernel's
// name.
//
// A config reaches the CUDA file as `#define NAME value` lines before its text: integers as they
// are, booleans as 1 or 0, strings bare (they name an enumerator in the template). Parameters of
// other templates are not defined. Derived values that `defines` in the manifest lists are defined
// too; they may rest on parameters alone. `#pragma unroll NAME` has the value itself, for compilers
// that expand no macros there (identifier_substitution.hpp).
//
// A parameter is a C++ template parameter where the kernel's name has it ("scale<VEC, float>") and
// the text declares that name in a `template <...>` list, any of them. It has its value in the
// kernel's name alone: no #define, which would change the list. A comment says the value there, so
// that two values are two texts. An #if or #ifdef of such a name is refused.
//
// grid and block take one to three
// sizes; `launch` may have `cluster: [x, y, z]` beside them. What is not given is 1, or 0 bytes.
// `cooperative: true` is for kernels that let the grid sync: all blocks must fit on the device.
// `programmatic: true` (sm_90 on) is for kernels that begin before the one in front of them has
// ended, and run griddepcontrol.wait before they touch global memory.
//
// `tiles: {sets: problem.B * problem.H, together: 4, of_a_set: ROW_TILES, steps: KEY_TILES}` in
// `launch` says how the work lies in tiles, where its blocks are not all alike: `portfolio
// --dispatch` predicts from it how long the launch takes at other sizes (engine/export/dispatch.hpp).
// A grid with fewer blocks than tiles takes them in rounds, every second one backwards. Nothing is
// launched by it.
class Template {
 public:
  // Throws UserError with file, line and column.
  static Template load(const std::string& name, const std::filesystem::path& manifest);
  // The same from text, whose includes are flat already: for an exported file, which carries its
  // manifest. `manifest` is the name that messages give.
  static Template parse(const std::string& name, const std::string& manifest_text,
                        const std::string& cuda_text, const std::filesystem::path& manifest);
  // One that is written out within another file, as a node of it. Members that it leaves out are
  // those of `given`, and `include` beside `source` is known to space_files.hpp.
  struct Given {
    std::string problem;
    std::vector<std::string> parameters;
    std::vector<std::string> arguments;
  };
  static Template written_out(const std::string& name, const YamlNode& manifest,
                              const std::string& cuda_text, const Given& given);

  const std::string& name() const { return name_; }
  const std::string& problem() const { return problem_; }
  // The first one's name, as the manifest has it.
  const std::string& kernel() const { return first_kernel().name; }
  // The names of all kernels for a config, each once: the entries of what is compiled for it.
  std::vector<std::string> kernels(const Config& config) const;
  // The name of its CUDA file, as the manifest has it.
  const std::string& source_name() const { return source_name_; }
  const std::vector<std::string>& parameters() const { return parameters_; }
  // For CompileRequest::options. Throws UserError where the compiler is not given such a value.
  std::vector<std::string> options(const Config& config = Config()) const;
  // That a value of a parameter may stand in the options that name it. Throws UserError.
  void require_option_value(const std::string& parameter, const Value& value) const;
  // Parameters that a space may leave out, and their values then.
  const Constants& optional() const { return optional_; }
  // What is known of its parameters, in the manifest's order; may leave out some, or all.
  const std::vector<GeneMoves>& moves() const { return moves_; }
  // "sm_90a", or empty: whatever the device is.
  const std::string& arch() const { return arch_; }
  // What to compile for on a device of this architecture; nothing if the kernel cannot run there.
  std::optional<std::string> arch_on(const std::string& device_arch) const;
  // With only_for set to this template's name, ready to join a SpaceParts.
  const std::vector<space::Derived>& derived() const { return derived_; }
  const std::vector<space::Constraint>& requirements() const { return requirements_; }
  // The CUDA text with its own #include "..." lines made flat, each file once.
  const std::string& cuda_text() const { return cuda_text_; }
  // Where its lines come from. Who knows more than that it is the text of `source` says so.
  const source::SourceLines& lines() const { return lines_; }
  // Whether a kernel of it says `cooperative`.
  bool may_cooperate() const;
  void locate(source::SourceLines lines) { lines_ = std::move(lines); }
  // "mine.cu:3": a line of cuda_text().
  std::string place_of(int line) const;
  // Those of its parameters that are C++ template parameters.
  const std::vector<std::string>& template_parameters() const { return template_parameters_; }
  // Its kernels as the manifest names them, with the arguments that each is given, if these are the
  // same for every config.
  struct NamedKernel {
    std::string name;
    Mark mark;
    std::optional<std::vector<std::string>> arguments;
  };
  std::vector<NamedKernel> named_kernels() const;
  const std::string& manifest_text() const { return manifest_text_; }

  // `problem_defines` come from the Problem ("HEAD_DIM" -> "64") and stand before the config's.
  // Throws UserError where the config lacks a parameter of this template.
  Source render(const Config& config,
                const std::vector<std::pair<std::string, std::string>>& problem_defines) const;

  // What is launched for `constants` ("problem.Lq", "device.sms", ...), or why nothing can be: a
  // size outside what CUDA allows, an expression that has no value. One line, with its place.
  std::expected<PlannedLaunch, std::string> plan(const Config& config,
                                                 const Constants& constants) const;
  // The same where a config that cannot be launched is the user's mistake: throws UserError.
  PlannedLaunch require_plan(const Config& config, const Constants& constants) const;
  // How it is launched where sizes are known later. Throws UserError with the place of what then
  // cannot be said: a tensor map, a `when` that rests on sizes.
  LaunchFormulas formulas(const Config& config, const DerivedResidues& given) const;
  // Throws UserError where the text asks for a template parameter's #define, which is not there.
  void require_no_conditions() const;
  // Throws UserError at the place of a name in the launch, the maps or an argument's `when` that is
  // neither one of `names` nor a derived value or optional parameter of this template.
  void require_names(const std::vector<std::string>& names) const;
  // Those of its parameters that decide how the work is divided: what grid, block, cluster and tiles
  // rest on, themselves or through derived values. Configs with the same values of these scale alike
  // with sizes.
  std::vector<std::string> division_parameters() const;
  // Those of them that decide how many threads a block has.
  std::vector<std::string> block_parameters() const;
  // Whether the value of this parameter can reach a kernel: the CUDA text mentions it, or the
  // launch does, itself or through derived values. One that cannot makes equal kernels only.
  bool uses(const std::string& parameter) const;
  // That arguments are maps, workspaces, scalars or among `names`, and maps, fills and copies of
  // tensors; that no workspace or scalar of the template is. Throws UserError at the place of what
  // is not as it must be.
  void require_known(const std::vector<std::string>& names) const;

 private:
  std::string name_;
  std::string problem_;
  std::vector<std::string> parameters_;
  std::vector<source::CompileOption> options_;
  std::string source_name_;
  source::SourceLines lines_;
  std::vector<std::string> template_parameters_;
  Constants optional_;
  std::vector<GeneMoves> moves_;
  // Those of grid, block, cluster, shared memory, maps, workspaces, scalars and conditions.
  std::vector<const expression::Expression*> launch_expressions() const;
  // Those of its parameters that reach one of these, themselves or through derived values.
  std::vector<std::string> parameters_behind(
      const std::vector<const expression::Expression*>& expressions) const;
  // The parameter, and the derived values that rest on it.
  std::set<std::string> reached_from(const std::string& parameter) const;
  struct Argument {
    std::string name;
    std::optional<expression::Expression> when;  // nothing: always
    Mark mark = {};
  };
  static std::vector<Argument> read_arguments(const YamlNode& node);
  static Template read(const std::string& name, const YamlNode& root);
  std::string instance_name(const std::string& kernel, const Config& config) const;
  // Takes the text, and finds out which parameters are C++ template parameters in it.
  void take_text(const std::string& cuda_text);
  std::string arch_;
  std::vector<std::string> defines_;
  std::vector<space::Derived> derived_;
  std::vector<space::Constraint> requirements_;
  struct Axis {
    char letter;
    char part;  // '%', '/', or 0: all of it
    std::vector<expression::Expression> by;
  };
  struct Map {
    std::string argument;
    std::string tensor;
    std::vector<expression::Expression> box;
    std::vector<Axis> axes;
    std::int64_t swizzle_bytes = 0;
    Mark mark = {};  // of the tensor's name
  };
  static Axis read_axis(const YamlNode& node);
  static std::vector<Map> read_maps(const YamlNode& node, const std::vector<Argument>& arguments);
  struct Kernel {
    std::string name;
    Mark mark;  // of the name
    std::vector<Argument> arguments;
    std::vector<Map> maps;
    std::vector<expression::Expression> grid;
    std::vector<expression::Expression> block;
    std::vector<expression::Expression> cluster;       // none: 1 x 1 x 1
    std::vector<expression::Expression> shared;        // one, or none for 0 bytes
    std::vector<expression::Expression> cooperative;   // one, or none for no
    std::vector<expression::Expression> programmatic;  // the same
    struct Tiles {
      expression::Expression sets, of_a_set, steps;
      std::optional<expression::Expression> together;  // nothing: 1
    };
    std::optional<Tiles> tiles;
  };
  struct Step {
    std::optional<expression::Expression> when;  // nothing: always
    std::variant<Kernel, PlannedFill, PlannedCopy> does;
    Mark mark = {};
  };
  struct Workspace {
    std::string name;
    DType type = DType::f32;
    std::vector<expression::Expression> shape;
    Mark mark = {};
  };
  struct Scalar {
    std::string name;
    DType type = DType::i32;
    expression::StatedNumber value;
    Mark mark = {};  // of the name
    Mark value_mark = {};
  };
  static Kernel read_kernel(const YamlNode& node);
  static Step read_step(const YamlNode& node);
  static std::vector<Workspace> read_workspaces(const YamlNode& node);
  static std::vector<Scalar> read_scalars(const YamlNode& node);
  void read_steps(const YamlNode& root);
  const Kernel& first_kernel() const;
  std::vector<const Kernel*> all_kernels() const;
  std::vector<PlannedWorkspace> plan_workspaces(const Config& config,
                                                const expression::Expression::Scope& scope) const;
  std::vector<PlannedScalar> plan_scalars(const std::vector<PlannedKernel>& kernels,
                                          const expression::Expression::Scope& scope) const;
  std::vector<Step> steps_;
  bool lists_steps_ = false;  // else there is one, a kernel
  std::vector<Workspace> workspaces_;
  std::vector<Scalar> scalars_;
  std::string cuda_text_;
  std::string manifest_text_;
};

// All names a manifest's expression may use for one config: its parameters, constants, the optional
// parameters that the config leaves out, and the derived values, computed in order when this is
// made. A derived value that mentions a name without a value has none itself. `config`, `constants`
// and `optional` must outlive this.
class DerivedScope {
 public:
  // Throws UserError where an expression cannot be evaluated.
  DerivedScope(const Config& config, const Constants& constants, const Constants& optional,
               const std::vector<space::Derived>& derived);

  DerivedScope(const Config& config, Constants&& temporary, const Constants& optional,
               const std::vector<space::Derived>& derived) = delete;

  const Value* find(const std::string& name) const;
  expression::Expression::Scope lookup() const {
    return [this](const std::string& name) { return find(name); };
  }

 private:
  const Config& config_;
  const Constants& constants_;
  const Constants& optional_;
  std::map<std::string, Value> values_;
};

}  // namespace fa_tune::kernel
