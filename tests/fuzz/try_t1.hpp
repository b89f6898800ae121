#pragma once

#include <string>
#include <string_view>

namespace fa_tune::test {

// Reads a text that may be anything as the values of a T1 file's parameter and as a condition, and
// evaluates the condition where it reads, for a few values of every name that it mentions. Returns
// what came of it, in one line; never crashes and never takes long, that is what it is for.
std::string try_t1(std::string_view text);

}  // namespace fa_tune::test
