#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fa_tune::worker {

// How much a worker may still do once it has opened what it is for.
enum class SandboxKind {
  interpreter,  // runs PTX in this process: the strictest
  compiler,     // NVRTC
  driver,       // a GPU's driver
};

// Takes from this process, and for good, what its work does not need, in two steps. Both throw
// MachineError where the system knows of such limits and refuses them. Under a sanitizer, whose own
// ways these limits break, only what does not concern it is taken.

using Folders = std::vector<std::filesystem::path>;

// Before the worker opens what it is for, and before there is a second thread: privileges, core
// dumps, its place in the queue of those that the kernel ends when memory is short, and the paths
// that are needed to open it. `places`: where a compiler may lie, besides the system's folders.
void limit_privileges(SandboxKind kind, const Folders& places = {});

// Once all is open: system calls, memory, files. `readable`: what a compiler still reads.
// `memory`: bytes, 0 for no limit but the machine's.
void limit_worker(SandboxKind kind, std::uint64_t memory, const Folders& readable = {});

// The variables of the environment that a worker gets of the engine's, as "NAME=value".
std::vector<std::string> worker_environment();

// What a worker of this machine may use, in bytes. Compilers, as many as there are hardware
// threads, share a half of what there is, at least 2 GiB each; `devices` that compute on the CPU
// share three quarters.
std::uint64_t memory_of_compiler();
std::uint64_t memory_of_emulator(std::size_t devices);

// What this kernel or machine lacks for all of the above to hold, a line each; empty where it all
// does.
std::vector<std::string> missing_limits();

// Keeps other processes of this user from this one's memory, where they are not privileged.
void close_memory();

}  // namespace fa_tune::worker
