#pragma once

#include <string>

namespace fa_tune::source {

// A compiler reads whatever file a source names, and its messages quote it. A template's source is
// flat and may come from a stranger, so of files it may name the compiler's own headers alone:
// "name" where that is a library's (include_flattening.hpp), <name> without "..", from the root
// neither, and not by a macro, which could say anything. The compiler is told where to look for
// them, and that is nowhere of the user's.
//
// The same holds of __has_include, which tells whether a file is there. Reads directives as NVRTC
// does, which takes form feeds, vertical tabs and carriage returns for blanks, digraphs, comments
// over lines and a backslash at a line's end; and also what only older C++ takes, trigraphs. Throws
// UserError; `name` stands in it.
void refuse_foreign_files(const std::string& source, const std::string& name);

// Whether a compiler may be given the text as the name of a kernel: a function's, or one of a
// template with what stands between < and >; nothing that could end the expression.
bool is_kernel_name(const std::string& text);

}  // namespace fa_tune::source
