#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/scaffold/index_range.hpp"

namespace fa_tune::scaffold {

constexpr std::array kAxes = {"x", "y", "z"};

// One buffer of a kernel, as its text uses it.
struct BufferUse {
  bool read = false, written = false, atomic = false;
  bool passed_on = false;       // to a function, which may do anything with it
  std::vector<Bound> extents;   // how many elements each index needs; nothing where unknown
  std::vector<std::string> by;  // of those the buffers that an index was read from
  std::optional<std::string> offsets_to;  // its elements begin and end rows: of how many in all
  std::optional<Polynomial> below;        // its elements are indices into rows of this length
  std::set<std::string> index_of;         // its elements are indices of these buffers
  std::vector<Polynomial> indices;        // the largest values, which tell the strides of rows
};

// What a kernel's text says about how it is launched and what it reads, found without running it.
struct KernelUse {
  std::map<std::string, BufferUse> buffers;  // by the names of its parameters and variables
  // Of each axis that blocks have: what one block covers, and where all of them end.
  struct Axis {
    bool block = false, thread = false, block_size = false;  // blockIdx, threadIdx, blockDim
    std::optional<Polynomial> covers;
    std::optional<Polynomial> extent;  // of a guard
    std::vector<Polynomial> strides;   // of loops that begin at threadIdx
    std::optional<Polynomial> tile;    // the size of an array of shared memory that it indexes
  };
  std::array<Axis, 3> axes;
  std::set<std::string> in_bounds;  // names in the ends of loops and guards
  std::set<std::string> words;      // every identifier of the body
  // Loops that begin at a number: their step, and where they end.
  std::vector<std::pair<Polynomial, Polynomial>> steps;
  bool leaves_edge = false;                   // a guard leaves out the first elements
  bool has_hard_math = false;                 // roots, logarithms, powers: not of all numbers
  bool has_packed = false;                    // half2 and the like
  std::optional<std::string> dynamic_shared;  // the type of `extern __shared__`
  std::vector<Bound> shared_extents;          // elements that each index of it needs
};

// `exact` are the names that stand for themselves (sizes, parameters), `known` what the launch is
// where that was found before: "blockDim.x", "gridDim.x" as polynomials.
KernelUse walk_kernel(const SourceText& source, const KernelText& kernel,
                      const std::set<std::string>& exact,
                      const std::map<std::string, Polynomial>& known, Algebra& algebra);

}  // namespace fa_tune::scaffold
