#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/util/process.hpp"

namespace fa_tune {

// The words that start this very program as a worker: its own file, even if that was replaced or
// removed since, then `worker` and `arguments`.
std::vector<std::string> worker_words(const std::vector<std::string>& arguments);

// Starts a process from a thread that lives as long as this program. A worker asks the kernel to be
// killed when its parent ends, and for the kernel the parent is the thread that started it. Throws
// as Process does.
std::unique_ptr<Process> start_lasting(const std::vector<std::string>& words,
                                       std::span<const int> given);

}  // namespace fa_tune
