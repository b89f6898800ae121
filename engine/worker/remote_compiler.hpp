#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/kernel/compile/compiler.hpp"

namespace fa_tune::worker {

struct RemoteCompilerOptions {
  std::vector<std::string> words;  // that start a worker (worker_words)
  std::chrono::milliseconds start{60'000};
  // The longest honest variants take some ten seconds on a slow machine. A source gets it twice.
  std::chrono::milliseconds deadline{60'000};
};

// Why a request is too large for a message, if it is. The source is at fault then.
std::optional<kernel::CompileFailure> refuse_large(const kernel::CompileRequest& request);

// Whether it has the kernels that were asked for. What a stranger's source made of a compiler may
// say anything.
bool is_answer_to(const kernel::CompileRequest& request, const kernel::Compiled& compiled);

// A Compiler in processes of its own, as many as there are threads that compile at a time; one is
// kept for each and used again. A source that kills or hangs its compiler is tried once more in a
// new process and then refused with a message that says so; such a failure is not `lasting`.
// Processes that are killed from outside do not count; too many of them are a MachineError.
//
// Throws what the worker throws when it opens its compiler, MachineError where it cannot be
// started.
std::unique_ptr<kernel::Compiler> open_remote_compiler(RemoteCompilerOptions options);

}  // namespace fa_tune::worker
