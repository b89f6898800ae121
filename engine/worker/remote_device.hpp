#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/device.hpp"

namespace fa_tune::worker {

class WorkerSession;
class Window;

// How long the engine waits for each answer of a device's worker.
struct Deadlines {
  using Milliseconds = std::chrono::milliseconds;

  Milliseconds start{60'000};  // a driver that brings up eight GPUs takes ten seconds
  Milliseconds load{60'000};   // the driver may compile
  Milliseconds copy{20'000};
  // A launch, and samples of one, as long as no correct kernel is known.
  Milliseconds launch{10'000};
  Milliseconds time{60'000};
  // Whoever does a piece of work has deadlines of its own for each launch.
  Milliseconds offload{std::chrono::hours(24)};
  // From then on: this multiple of what the fastest would take, and not less than this. No limit of
  // this kind if `incumbents` is 0.
  double incumbents = 20;
  Milliseconds least{2'000};

  // The emulator counts instructions and so ends every kernel by itself, at the same point on any
  // machine. Its deadlines are for its own mistakes alone: no verdict may depend on how busy a
  // machine is.
  static Deadlines of_emulator() {
    constexpr Milliseconds long_enough{1'800'000};
    Deadlines deadlines;
    deadlines.load = deadlines.copy = deadlines.launch = deadlines.time = long_enough;
    deadlines.incumbents = 0;
    return deadlines;
  }
};

struct RemoteOptions {
  // Program and arguments that start the worker (worker_words), which gets `--health` besides when
  // it follows one that died.
  std::vector<std::string> words;
  // Where it is no process of this machine's: opens a session with it, and `words` mean nothing.
  // `follows`: it takes the place of one that died. Tensors come from `window` and go there.
  std::function<std::unique_ptr<WorkerSession>(bool follows, const Window& window)> open = {};
  Deadlines deadlines;
  // Keeps buffers that are released, wiped, for the next of the same size. Not for an emulator,
  // which knows what nobody has written yet and what is no more.
  bool parks_buffers = false;
  bool offloads = false;  // Device::offloads: a node, no process of this machine
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
// What a device of another machine is asked when that is gone throws DeviceGone.
//
// Throws what the worker throws when it opens the device: UserError, MachineError. MachineError
// also where the worker itself cannot be started.
std::unique_ptr<device::Device> open_remote(const RemoteOptions& options);

}  // namespace fa_tune::worker
