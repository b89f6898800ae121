#pragma once

#include "engine/worker/sandbox.hpp"

namespace fa_tune::worker {

// Whether this kernel filters system calls, and libseccomp knows this machine.
bool has_call_filter();

// From now on this process, with all of its threads and for good, can make the system calls alone
// that workers of this kind need. Any other fails with EPERM. With FA_TUNE_SANDBOX=log each of
// those is also told on standard error: "sandbox: refused NAME(...)". Throws MachineError where the
// kernel knows filters and refuses this one.
void filter_calls(SandboxKind kind);

// What a line of the log begins with.
inline constexpr const char* kSandboxLog = "sandbox: ";
// Whether FA_TUNE_SANDBOX asks for the log.
bool logs_refused_calls();

}  // namespace fa_tune::worker
