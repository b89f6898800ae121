#pragma once

#include <string>

#include "tools/command_line/command_tree.hpp"

namespace fa_tune::command_line {

// The manual page of the program, in the language of man(7).
std::string manual_page(const CommandFacts& program, const std::string& version);

}  // namespace fa_tune::command_line
