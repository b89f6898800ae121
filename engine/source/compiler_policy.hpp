#pragma once

#include <string>
#include <vector>

#include "engine/yaml/yaml.hpp"

namespace fa_tune::source {

// A manifest's `options`: NVRTC's by name, of those alone that change how a kernel's code is made.
// What reads or writes files, names an architecture or changes the language is not among them: a
// space of a stranger's must not make the compiler do that. Throws UserError at the option.
std::vector<std::string> compile_options(const YamlNode& node);

// A compiler reads whatever file a source names, and its messages quote it. A template's source is
// flat and may come from a stranger, so it may name none: neither by an absolute path, nor by one
// with "..", nor by a macro. What a line with a header's plain name asks for, the compiler finds
// where it was told to look, which is nowhere of the user's. Looks at every place that could be
// such a directive, in comments and strings too. Throws UserError; `name` stands in it.
void refuse_foreign_includes(const std::string& source, const std::string& name);

}  // namespace fa_tune::source
