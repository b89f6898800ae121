#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/worker/deadlines.hpp"

namespace fa_tune {

struct RemoteOptions {
  // Program and arguments that start the worker (worker_words), which gets `--health` besides when
  // it follows one that died.
  std::vector<std::string> words;
  Deadlines deadlines;
  // Keeps buffers that are released, wiped, for the next of the same size. Not for an emulator,
  // which knows what nobody has written yet and what is no more.
  bool parks_buffers = false;
  // Waits before each try to start a worker in the place of one that died. A driver that has just
  // killed a kernel may need some seconds for itself.
  std::vector<std::chrono::milliseconds> pauses = {
      std::chrono::milliseconds(0), std::chrono::milliseconds(100), std::chrono::milliseconds(500),
      std::chrono::milliseconds(2000), std::chrono::milliseconds(8000)};
};

// A Device in a process of its own. A kernel that kills or hangs that process, or costs it its
// context, is told by a Fault, and the next call finds a new process, started after a check that
// the device still computes. If that fails again and again the device is lost(). What was loaded is
// loaded again when it is next used. Of a GPU it holds the lease (gpu_lease.hpp) while kernels run
// there: for itself alone while a clock runs.
//
// Throws what the worker throws when it opens the device: UserError, MachineError. MachineError
// also where the worker itself cannot be started.
std::unique_ptr<Device> open_remote(const RemoteOptions& options);

}  // namespace fa_tune
