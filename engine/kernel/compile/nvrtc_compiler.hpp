#pragma once

#include <memory>
#include <string>

#include "engine/kernel/compile/compiler.hpp"

namespace fa_tune::kernel {

// NVRTC in this process, opened at run time: for workers, tests and benchmarks. All others have
// open_nvrtc_in_worker (engine/worker/open.hpp), since sources may be a stranger's.
// Looks at FA_TUNE_NVRTC (a file), then beside the
// program (../lib), the loader's path, /usr/local/cuda*/lib64, and the local environment that
// tools/fa-tune sets up (wheels under .venv in FA_TUNE_ROOT, then above the program).
// FA_TUNE_HIDE_TOOLKIT=1 leaves out the loader's path and /usr/local. Throws MachineError that
// lists where it looked.
std::unique_ptr<Compiler> open_nvrtc();

// Which NVRTC open_nvrtc() would use, for a person who asks what this machine has. Never throws for
// a machine without one: then `found` is false and `problem` says where it was looked for.
struct NvrtcFacts {
  bool found = false;
  std::string path;
  std::string version;  // "NVRTC 13.0.88"
  std::string headers;  // the toolkit's folder of them; empty if there is none
  std::string problem;
};
NvrtcFacts describe_nvrtc();

}  // namespace fa_tune::kernel
