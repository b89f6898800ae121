#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fa_tune {

// Arrays as NumPy keeps them: format versions 1.0 to 3.0 of numpy.lib.format, in C order.
struct NpyArray {
  std::string type;                  // its `descr`: "<f4", "|u1"
  std::vector<std::uint64_t> dims;   // none for a single number
  std::span<const std::byte> bytes;  // within the text that was read
};

// `name` stands in messages. Throws UserError, before anything is allocated for the data, for what
// is no such array: of Fortran's order, of Python's objects, with a header above 64 KiB, of another
// length than its header says.
NpyArray parse_npy(std::string_view text, const std::string& name);

// The same array as a file of version 1.0.
std::string npy_text(const std::string& type, const std::vector<std::uint64_t>& dims,
                     std::span<const std::byte> bytes);

}  // namespace fa_tune
