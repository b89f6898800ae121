#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace fa_tune {

// SHA-256 of the bytes as 64 lower-case hexadecimal digits: the identity of sources, binaries,
// spaces and cache entries.
std::string sha256(std::string_view bytes);
std::string sha256(std::span<const std::byte> bytes);

}  // namespace fa_tune
