#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/yaml/value.hpp"

namespace fa_tune::tuner {

struct DrawnShape {
  std::size_t like = 0;  // the shape that it is drawn from
  Constants sizes;
};

// Shapes within the range of those given, by their sizes of these names: each power of two as often
// as another. Sizes that are equal in the shape that one is drawn from stay equal. None is larger
// than the largest in the product of its sizes. Fewer where no more are found.
std::vector<DrawnShape> drawn_shapes(const std::vector<Constants>& shapes,
                                     const std::vector<std::string>& names, std::size_t count,
                                     std::uint64_t seed);

}  // namespace fa_tune::tuner
