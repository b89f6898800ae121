#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/problem/custom/spec.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune {

// How far from the truth of a custom problem an element may be.
//
// Measured, where the space says nothing: the reference runs as it is written (the trusted run), in
// double (the exact one), and in double on inputs that are the same to a float (nearby.hpp). What
// lies between the first two is what rounding does to this computation on these inputs; between the
// last two, what it may do to a computation that goes another way, with another exp. Neither is
// better known than from its neighbours: the noise of an element is the root mean square of both
// in its own piece of 32 elements, as they lie in memory, and the pieces before and behind that;
// together with the half unit in the last place by which the output's own type rounds. To f32 and
// bf16 may come what a kernel gains by taking numbers below the normal ones for 0. A kernel that
// adds in another order, or contracts other products, errs as much as that but elsewhere; one that
// is wrong errs by a share of the values themselves. So an element may be off by 16 times the
// noise, which a right one exceeds by chance at no size of tensor, and all together by 4 times
// (their root mean square, relative to the bounds and to the values).
//
// `trusted` are elements of the output's type, `near` doubles.
Expectation measured_expectation(const Tensor& output, std::vector<double> exact,
                                 std::span<const std::byte> trusted,
                                 std::span<const std::byte> near);

// As the space says: absolute + relative |exact|.
Expectation stated_expectation(const Tensor& output, std::vector<double> exact,
                               const Tolerance& tolerance);

// Integers have no noise.
Expectation equal_expectation(const Tensor& output, std::vector<double> exact);

}  // namespace fa_tune
