#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/yaml/yaml.hpp"

namespace fa_tune::source {

// A manifest's `options`: NVRTC's by name, of those alone that change how a kernel's code is made.
// What reads or writes files, names an architecture or changes the language is not among them: a
// space of a stranger's must not make the compiler do that. Throws UserError at the option.
//
// The value of an option may be the name of one of `parameters`, and is each config's own then.
struct CompileOption {
  std::string text;  // "--maxrregcount=REGS"
  Mark mark = {};
};
std::vector<CompileOption> compile_options(const YamlNode& node,
                                           const std::vector<std::string>& parameters);

// The option with what `value_of` gives in the place of a parameter's name. Throws UserError where
// the compiler is not given such a value.
std::string with_value(const CompileOption& option,
                       const std::function<std::string(const std::string& name)>& value_of);
// The name that stands for the option's value, if it is one.
std::string named_value(const CompileOption& option);

}  // namespace fa_tune::source
