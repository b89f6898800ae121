#pragma once

#include <string>
#include <vector>

#include "engine/base/kernel_image.hpp"
#include "engine/kernel/template.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune {

// A plain kernel whose results are the truth, ready for one shape.
struct ReferenceCall {
  Source source;
  std::string arch;                  // empty: the device's own
  std::vector<std::string> options;  // the compiler's
  LaunchConfig launch;
  std::vector<std::string> arguments;  // tensors and scalars of the instance, in order
  bool twice = true;                   // run it again, to see that it gives the same
};

// Runs such kernels, somewhere no kernel under test runs. Thread-safe.
class ReferenceRunner {
 public:
  virtual ~ReferenceRunner() = default;
  // What it leaves in each output and inout tensor of the instance, in their order. A reference is
  // believed only if it writes all of its outputs, the same each time it is run, finite, and
  // nothing else. Throws UserError, which says where, for one that does not, or that is refused by
  // the compiler or the device.
  virtual std::vector<std::vector<double>> run(const ReferenceCall& call,
                                               const Instance& instance) = 0;
};

}  // namespace fa_tune
