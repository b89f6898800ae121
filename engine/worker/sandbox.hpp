#pragma once

namespace fa_tune::worker {

// How much a worker may still do once it has opened what it is for.
enum class SandboxKind {
  interpreter,  // runs PTX in this process: the strictest
  compiler,     // NVRTC
  driver,       // a GPU's driver, whose ways are its own: what no driver needs is refused
};

// Takes from this process, and for good, what its work does not need; from all of its threads.
// Throws MachineError where the system knows of such limits and refuses them.
void limit_worker(SandboxKind kind);

}  // namespace fa_tune::worker
