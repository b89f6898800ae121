#pragma once

#include <expected>
#include <functional>
#include <string>

namespace fa_tune {

// Runs `work` in a process of its own and returns what it returned, so that a kernel which costs
// its process the GPU, or never ends, costs nobody else anything. Fork: the caller must not have
// opened a GPU. The error says how the process ended if it gave no answer within `seconds`, after
// which it is killed.
std::expected<std::string, std::string> run_isolated(const std::function<std::string()>& work,
                                                     int seconds);

}  // namespace fa_tune
