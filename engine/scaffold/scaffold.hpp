#pragma once

#include <string>

namespace fa_tune::scaffold {

// A space to start from, for a kernel that somebody wrote for themselves.
struct Request {
  std::string source;  // the file, as the space is to name it
  std::string name;    // of the space
  std::string kernel;  // where the file has several
  std::string target = "h100";
};

// The space's YAML for a kernel of a CUDA text whose includes are made flat: what is guessed is
// marked with `# guessed:`, what a person must say with `# fill in:`. Its reference is the kernel
// itself with its defaults. Nothing is compiled. Throws UserError, in one line, for what cannot be
// read.
std::string space_for(const std::string& text, const Request& request);

}  // namespace fa_tune::scaffold
