#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/lone/element.hpp"

namespace fa_tune {

// Arrays of elements as .npy files (engine/util/npy.hpp).
// bf16, e4m3 and e5m2, which NumPy does not know, are kept as unsigned integers of their size.

std::string write_npy(Element element, const std::vector<std::uint64_t>& dims,
                      std::span<const std::byte> bytes);

// The bytes of an array of `count` elements that fit `element`. `name` stands in messages. Throws
// UserError for what is no such array, has another type or another number of elements.
std::vector<std::byte> read_npy(const std::string& text, const std::string& name, Element element,
                                std::uint64_t count);

}  // namespace fa_tune
