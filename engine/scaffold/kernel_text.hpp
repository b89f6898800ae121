#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/scaffold/tokens.hpp"

namespace fa_tune::scaffold {

// What a kernel is given, as its signature says it.
struct KernelParameter {
  std::string name;
  std::string type;  // as spaces name it, "f32"; else the words that stand there
  bool known = false;
  bool pointer = false;
  bool constant = false;    // what it points to
  std::vector<Part> inner;  // the sizes behind the first of an array of arrays: float a[][N]
  int line = 0;
};

struct TemplateParameter {
  std::string name;
  bool is_type = false, is_bool = false;
  std::optional<std::int64_t> otherwise;  // its default
  std::string type_otherwise;             // of a type
};

// A variable of the file that the kernel reads: `__constant__ float weights[9]`.
struct ConstantVariable {
  std::string name, type;
  bool known = false;
  std::vector<Part> sizes;
};

struct KernelText {
  std::string name;
  int line = 0;
  std::vector<TemplateParameter> template_parameters;
  std::vector<KernelParameter> parameters;
  std::optional<std::int64_t> most_threads;  // __launch_bounds__
  Part body;
};

struct SourceText {
  SourceTokens source;
  std::vector<KernelText> kernels;              // those with a body
  std::vector<ConstantVariable> constants;      // __constant__
  std::map<std::string, std::int64_t> numbers;  // constexpr int of the file

  const Tokens& tokens() const { return source.tokens; }
};

// Throws UserError as tokenize does.
SourceText read_source(std::string_view text);

// A space's name for a type that stands there in words; nothing if it has none.
std::optional<std::string> known_type(const std::string& words);
// Bytes of a type that is known.
std::size_t bytes_of(const std::string& type);
bool is_floating(const std::string& type);
// Components of a vector, 4 of f32x4; 1 of a number.
int lanes_of(const std::string& type);

}  // namespace fa_tune::scaffold
