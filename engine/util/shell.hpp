#pragma once

#include <string>

namespace fa_tune {

// What the user starts the program with, for commands that are printed to be typed: "fa-tune" where
// the shell finds it by that name, else as it was typed ("tools/fa-tune"). "fa-tune" until it is
// set.
void set_program_name(const std::string& typed);
const std::string& program_name();

// Text as one word of a command line: in quotes where a shell would read it otherwise.
std::string shell_word(const std::string& text);

}  // namespace fa_tune
