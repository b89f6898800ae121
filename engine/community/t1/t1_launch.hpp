#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/community/t1/t1_file.hpp"

namespace fa_tune::community {

inline constexpr std::array kAxes = {"x", "y", "z"};

// How a T1 file's kernel is launched, by Kernel Tuner's conventions (t1_space.hpp), in expressions
// of ours. All throw UserError with the place in the file for what does not fit.
class T1Launch {
 public:
  // Both must outlive it: the file's KernelSpecification, and what was read of the file.
  T1Launch(const YamlNode& kernel, const T1File& file) : kernel_(kernel), file_(file) {}

  // ProblemSize, which the others use.
  void read_sizes();
  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  std::size_t dimensions() const { return sizes_.empty() ? 1 : sizes_.size(); }

  // Nothing if there is none of that name.
  const space::Parameter* parameter(const std::string& name) const;
  // An expression of the file as one of ours, of sizes and, where there may be any, parameters.
  std::string expression(const YamlNode& node, std::string_view what, const std::string& scope,
                         bool of_parameters) const;
  std::string block_size(std::size_t axis) const;
  std::string grid_size(std::size_t axis) const;
  // A manifest's `launch`.
  std::string text() const;
  // With the numbers of ProblemSize in place of its names.
  std::string with_own_sizes(std::string text) const;

 private:
  // Whether the file says how large a block is; else Kernel Tuner takes 256 threads, and as many
  // blocks as there are elements.
  bool is_sized(std::size_t axis) const;
  // An empty list of divisors is none. Without any it is the block's size, where that is known.
  std::string divisor(std::size_t axis) const;

  const YamlNode& kernel_;
  const T1File& file_;
  std::vector<std::int64_t> sizes_;
};

}  // namespace fa_tune::community
