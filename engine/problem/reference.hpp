#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/kernel/template/template.hpp"
#include "engine/model/kernel_image.hpp"
#include "engine/problem/problem.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::problem {

// A plain kernel whose results are the truth, ready for one shape.
struct ReferenceCall {
  kernel::Source source;
  std::string arch;                  // empty: the device's own
  std::vector<std::string> options;  // the compiler's
  LaunchConfig launch;
  std::vector<std::string> arguments;  // tensors and scalars of the instance, in order
  // Another form of it has been run on such an instance and found to be as a reference must: it is
  // run once, and nobody looks whether it wrote to its inputs.
  bool checked = false;
  // Run it with every check (Checks::all), on a device that can.
  bool sanitized = true;
};

// The bytes are there until it returns. A tensor may have hundreds of megabytes of them: fresh
// memory for a copy in double costs more than what is done with it.
using TakeResult = std::function<void(const Tensor& output, std::span<const std::byte> bytes)>;

// The reference is sound, but what it gives for these inputs is not finite.
class NoTruth : public UserError {
 public:
  using UserError::UserError;
};

// Runs such kernels, somewhere no kernel under test runs. Thread-safe.
class ReferenceRunner {
 public:
  virtual ~ReferenceRunner() = default;
  // `take` gets what it leaves in each output and inout tensor of the instance, in their order and
  // types. A reference is believed only if it writes all of its outputs, the same each time it is
  // run, finite, and nothing else. Throws UserError, which says where, for one that does not, or
  // that is refused by the compiler or the device; NoTruth if results are not finite.
  virtual void run(const ReferenceCall& call, const Instance& instance, const TakeResult& take) = 0;
};

}  // namespace fa_tune::problem
