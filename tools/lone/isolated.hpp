#pragma once

#include <expected>
#include <string>
#include <vector>

namespace fa_tune {

// Runs a program and returns what it wrote to standard output, so that a kernel which costs its
// process the GPU, or never ends, costs nobody else anything. A program of its own and no mere
// fork: a CUDA driver that was touched before a fork does not start after it. The error says how
// the process ended if that was not well, or that it gave no answer within `seconds`, after which
// it is killed.
std::expected<std::string, std::string> run_isolated(const std::vector<std::string>& words,
                                                     int seconds);

}  // namespace fa_tune
