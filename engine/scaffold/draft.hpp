#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/scaffold/algebra.hpp"
#include "engine/scaffold/guess.hpp"
#include "engine/scaffold/kernel_text.hpp"
#include "engine/scaffold/kernel_walk.hpp"
#include "engine/scaffold/value_lists.hpp"

namespace fa_tune::scaffold {

// One axis of a launch.
struct LaunchAxis {
  Polynomial block = 1;              // threads of a block
  Polynomial covers = 1;             // elements that a block computes
  std::optional<Polynomial> extent;  // elements of all blocks
  bool guarded = false;              // the kernel itself says where they end
};

// A guess in the making: what its steps, from launch to arguments, tell each other.
struct Draft {
  Draft(const SourceText& from, const KernelText& of);

  [[noreturn]] void refuse(const std::string& what) const;

  // An argument by value.
  bool is_scalar(const std::string& name) const;
  bool is_size(const std::string& name) const;
  bool is_parameter(const std::string& name) const;
  // `wanted`, or with a number behind it where the source has that name already.
  std::string fresh_name(const std::string& wanted) const;

  // Numbers that bounds are compared by: defaults, and for sizes large ones that all differ.
  std::function<double(const std::string&)> default_value() const;
  Bound largest(const std::vector<Bound>& bounds) const;

  // How formulas of the problem spell names.
  Algebra::Spelling in_problem() const;
  // How those of a launch do; of the reference's all parameters are their defaults.
  Algebra::Spelling in_launch(bool of_reference) const;

  const SourceText& source;
  const KernelText& kernel;
  Algebra algebra;
  std::set<std::string> exact;  // names that stand for themselves in bounds
  // Template parameters, open macros and the launch's own parameters, with their defaults.
  std::map<std::string, std::int64_t> tunable;
  std::vector<GuessedValues> launch_parameters;     // which the source does not have
  std::map<std::string, Polynomial> launch_values;  // of "blockDim.x", "gridDim.x"
  std::array<LaunchAxis, 3> axes;
  std::vector<std::string> own_sizes;   // which the kernel is not given
  std::set<std::string> fixed;          // tunable, yet of one value: shapes depend on them
  std::set<std::string> size_macros;    // open macros that are sizes
  std::map<std::string, Bound> shapes;  // elements of each buffer; nothing where unknown
  Bound widest;                         // of the shapes of the kernel's arguments
  KernelUse use;
  Guess made;
};

bool is_integer_type(const std::string& type);

}  // namespace fa_tune::scaffold
