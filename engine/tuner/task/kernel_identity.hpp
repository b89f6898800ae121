#pragma once

#include <string>
#include <string_view>

#include "engine/model/kernel_image.hpp"

namespace fa_tune::tuner {

// Identifies a variant by what a device is given: at every shape that a run gates or times, the
// machine code and all arguments of its launch (grid, block, cluster, shared memory, arguments,
// tensor maps), of each step of several, its workspaces and scalars. Variants with the same identity
// are the same kernel whatever their configs say, so a run gates one of them and the others are its
// duplicates. Identities are comparable within a run, because all its trials have the same shapes.
class KernelIdentity {
 public:
  // Shapes must be added in the same order for all variants. `code` is Compiled::code_hash, or a
  // stand-in while nothing is compiled yet.
  void add_shape(std::string_view code, const PlannedLaunch& planned);

  // SHA-256 of all that was added.
  std::string hash() const;

 private:
  void add_kernel(std::string_view code, const auto& planned);

  std::string text_;
};

}  // namespace fa_tune::tuner
