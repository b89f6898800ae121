#pragma once

#include <array>
#include <cstddef>
#include <filesystem>

namespace fa_tune::node {

// What the engine and its nodes share, and nobody else: who has it may run kernels on the nodes,
// and tell the engine what kernels compute and how long they take.
using Key = std::array<unsigned char, 32>;

// The key of a file: 64 hexadecimal digits and a line's end, which this user alone may read and
// write (mode 600). Throws UserError that says what is wrong with it.
Key read_key(const std::filesystem::path& file);
// The same; where there is no such file, makes one with a new key first.
Key read_or_make_key(const std::filesystem::path& file);

}  // namespace fa_tune::node
