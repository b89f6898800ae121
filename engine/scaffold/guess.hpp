#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/scaffold/kernel_text.hpp"

namespace fa_tune::scaffold {

// The comment behind a line of the space: what was guessed from, or what a person must say.
struct Remark {
  enum class Kind { none, guessed, fill_in } kind = Kind::none;
  std::string text;
};

// A space for one kernel, before it is written. Formulas are texts: those of a launch name sizes as
// problem.n, those of the problem as n.

// A size of the problem.
struct GuessedSize {
  std::string name;
  std::int64_t timed = 0;
  std::int64_t ragged = 0;  // one that blocks do not divide; 0: the kernel may not take any
  bool is_define = false;   // a macro of the source has its value
};

struct GuessedArgument {
  std::string name, type;
  std::vector<std::string> shape;  // of a buffer
  std::string role, fill, value;
  bool constant = false;  // a __constant__ variable
  Remark remark;
};

struct GuessedParameter {
  std::string name;
  std::vector<std::string> values;
  Remark remark;
};

struct GuessedLaunch {
  std::vector<std::string> grid, block;
  std::string shared;
};

struct Guess {
  std::string kernel, reference_kernel;
  std::vector<GuessedSize> sizes;
  Remark sizes_remark;
  std::vector<GuessedArgument> arguments;
  std::vector<GuessedParameter> parameters;
  std::vector<std::pair<std::string, std::string>> constraints;  // an expression, and why
  GuessedLaunch launch, reference_launch;
  Remark grid_remark, shared_remark;
  std::string tolerance;
  Remark tolerance_remark;
  // Names that only a #define gives, and what the reference has for them.
  std::vector<std::pair<std::string, std::int64_t>> missing;
  bool cooperative = false;
  std::vector<std::string> notes;  // what else a person may do
};

// Throws UserError where a space cannot state what the kernel takes.
Guess guess_space(const SourceText& source, const KernelText& kernel);

}  // namespace fa_tune::scaffold
