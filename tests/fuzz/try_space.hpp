#pragma once

#include <string>
#include <string_view>

namespace fa_tune::test {

// Reads a text that may be anything as a space file, builds the space where it reads and is small,
// and asks it for configs. Returns what came of it in a line; never crashes and never takes long.
std::string try_space(std::string_view text);

}  // namespace fa_tune::test
