#pragma once

#include <string>
#include <string_view>

namespace fa_tune::test {

// Reads the bytes as a recorded table, packed or not. Says what it is.
std::string try_table(std::string_view bytes);

}  // namespace fa_tune::test
