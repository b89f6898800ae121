#pragma once

#include <string>
#include <string_view>

namespace fa_tune::test {

// Reads the text as an exported kernel, as `verify` does up to the compiler: its block, the manifest
// in it, the source behind it and the space that its problem is stated by. Says how far it came.
std::string try_export(std::string_view text);

}  // namespace fa_tune::test
