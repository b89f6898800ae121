#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace fa_tune::command_line {

// Sorts the commands of `--help` by what one wants to do.
void group_commands(CLI::App& app);

// Adds `completion` and `manual`, which print what is made of `app`.
void add_completion(CLI::App& app, std::function<int()>& action);
void add_manual(CLI::App& app, std::function<int()>& action);

}  // namespace fa_tune::command_line
