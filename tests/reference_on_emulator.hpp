#pragma once

#include <memory>

#include "engine/device/local/emulated.hpp"
#include "engine/device/profile.hpp"
#include "engine/gate/reference_run.hpp"
#include "engine/problem/problem.hpp"
#include "tests/cached_nvrtc.hpp"

namespace fa_tune::test {

// For a problem whose expected results come from a kernel: runs that kernel on an emulator of the
// target in this process, which also compiles it. Both are opened when they are first needed, the
// compiler once.
inline void reference_on_emulator(problem::Problem& problem, const device::DeviceProfile& target) {
  if (!problem.wants_reference()) return;
  problem.use_reference(gate::make_reference_runner(
      [target] { return device::open_emulator(target); },
      [](const kernel::CompileRequest& request) { return cached_nvrtc().compile(request); }));
}

}  // namespace fa_tune::test
