#pragma once

#include <span>

namespace fa_tune {

// What the kernel still does for this process: a seccomp filter (Linux, seccomp(2)), for all of its
// threads and for good. What is refused fails with EPERM. Nothing happens on machines other than
// x86-64 and arm64, and where the kernel has no such filters.
//
// Both set no_new_privs first and throw MachineError where a kernel that has filters refuses them.

// Only memory, threads of its own, time, and files that are open or are opened to be read.
void allow_computing_only();
// All but these calls, and sockets beyond this machine.
void refuse_calls(std::span<const int> calls);

}  // namespace fa_tune
