#pragma once

#include <string>
#include <string_view>

#include "engine/model/kernel_image.hpp"

namespace fa_tune {

// What a variant is to a device: at every shape that a run gates or times, the machine code and all
// that a launch of it is given (grid, block, cluster, shared memory, arguments, tensor maps).
// Variants of one identity are one kernel whatever their configs say, so a run judges one of them
// and the others are its duplicates. Comparable within a run, whose shapes are the same for all
// its trials.
class KernelIdentity {
 public:
  // The shapes in one order for all variants. `code` is Compiled::code_hash, or what stands for it
  // where nothing is compiled yet.
  void add_shape(std::string_view code, const PlannedLaunch& planned);

  // SHA-256 of all that was added.
  std::string hash() const;

 private:
  std::string text_;
};

}  // namespace fa_tune
