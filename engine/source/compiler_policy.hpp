#pragma once

#include <string>
#include <vector>

#include "engine/yaml/yaml.hpp"

namespace fa_tune::source {

// A manifest's `options`: NVRTC's by name, of those alone that change how a kernel's code is made.
// What reads or writes files, names an architecture or changes the language is not among them: a
// space of a stranger's must not make the compiler do that. Throws UserError at the option.
std::vector<std::string> compile_options(const YamlNode& node);

}  // namespace fa_tune::source
