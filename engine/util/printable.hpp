#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace fa_tune {

// Bytes from a stranger as text that a terminal, a log and a database can take: well-formed UTF-8
// stays, every other byte and every control character becomes '?'. Longer than `most` bytes, it is
// cut at a character and ends in "...".
std::string printable(std::string_view bytes, std::size_t most);

// The first byte with which no well-formed UTF-8 character begins; nothing where all is UTF-8.
std::optional<std::size_t> first_not_utf8(std::string_view bytes);

}  // namespace fa_tune
