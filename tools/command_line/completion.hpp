#pragma once

#include <string>
#include <vector>

#include "tools/command_line/command_tree.hpp"

namespace fa_tune::command_line {

// What is completed besides names of commands and options.
struct CompletionWords {
  std::vector<std::string> spaces;   // the shipped ones
  std::vector<std::string> devices;  // "auto", "cuda:0", "emulator:h100", ...
};

// A script that makes a shell complete the program's command line.
std::string bash_completion(const CommandFacts& program, const CompletionWords& words);
std::string zsh_completion(const CommandFacts& program, const CompletionWords& words);
std::string fish_completion(const CommandFacts& program, const CompletionWords& words);

}  // namespace fa_tune::command_line
