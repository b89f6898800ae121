#pragma once

#include <string>
#include <vector>

namespace fa_tune {

// A command line as its words, without a shell: blanks separate, '...' and "..." hold together what
// they enclose, a backslash takes the next character as it is (within "..." only before " and \,
// within '...' never). Nothing else is special: no variables, patterns, pipes or redirections.
// Throws UserError for a quote that is not closed, a backslash at the end, and for no word at all.
std::vector<std::string> split_words(const std::string& text);

}  // namespace fa_tune
