#pragma once

#include <span>

#include "engine/util/random.hpp"

namespace fa_tune {

// Fills `values` with `spread` times standard normal values, for tensors of a hundred million
// elements: 65,536 values of equal odds, the normal distribution's quantiles at (i + 1/2) / 65536,
// four to a draw of the generator. They end at 4.3; a float of 16 bits tells fewer apart.
void fill_normal(Random& random, float spread, std::span<float> values);

}  // namespace fa_tune
