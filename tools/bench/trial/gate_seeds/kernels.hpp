#pragma once

#include <string>
#include <vector>

// Kernels of few outputs, one block of 64 threads a row, and the same with a mistake.
namespace gate_seeds {

struct Kernel {
  std::string name;
  std::string arguments;   // in YAML, before `rows` and `columns`
  std::string sizes;       // the second is what trials are gated at
  std::string parameters;  // in C++, before `int rows, int columns`
  std::string plain;       // the reference's body, by one thread a row
  std::string body;        // of a block; reads element i at AT(i), and counts it if COUNTS(i)
  // An index cannot be off by a little: numbers below the normal ones that fast math takes for 0
  // make it another.
  bool fast_math = true;
};

std::vector<Kernel> kernels();

// unsure: what it should come to is a matter of taste, so that it does not count.
enum class Kind { right, element, term, unsure };

// One way of writing a kernel down: what AT and COUNTS are, and compiler options.
struct Way {
  std::string name;
  Kind kind = Kind::right;
  std::string at = "(i)";
  std::string counts = "true";
  bool fast_math = false;
};

std::vector<Way> ways_of(const Kernel& kernel);

// The space's YAML, and the texts of its files by name: `plain.cu`, `way0.cu`, ...
struct Files {
  std::string space;
  std::vector<std::pair<std::string, std::string>> texts;
};
Files files_of(const Kernel& kernel, const std::vector<Way>& all);

}  // namespace gate_seeds
