#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fa_tune {

// Bytes from a stranger as text that a terminal, a log and a database can take: well-formed UTF-8
// stays, every other byte and every control character becomes '?'. Longer than `most` bytes, it is
// cut at a character and ends in "...".
std::string printable(std::string_view bytes, std::size_t most);

}  // namespace fa_tune
