#pragma once

#include <string>
#include <string_view>

namespace fa_tune::test {

// Loads the first kernels of a text that may be anything and, where they load, runs one block of
// each with a small budget of instructions. Returns what came of the last one, in one line; never
// crashes, that is what it is for. Texts that want much memory are not loaded.
std::string try_ptx(std::string_view text);

}  // namespace fa_tune::test
