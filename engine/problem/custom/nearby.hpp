#pragma once

#include <cstdint>

#include "engine/problem/custom/spec.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune {

// Inputs that float arithmetic takes for the same: of a widened instance, what was drawn from a
// normal or uniform distribution, each element nearer to 0 by up to the last place of a float, as
// the seed draws. Right kernels may compute exactly what is right of such inputs (that is what
// backward stability means), so what lies between their results is noise no kernel can be blamed
// for: e^-60 as 2^(-60 log2 e) is off by 3e-6 of itself. Integers, constants and the user's own
// data stay, since a kernel may count on what they are; nearer to 0, so that bounds of a uniform
// distribution about 0 hold.
Instance nearby(const CustomSpec& spec, Instance wide, std::uint64_t seed);

}  // namespace fa_tune
