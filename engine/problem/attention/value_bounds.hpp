#pragma once

#include "engine/problem/attention/shape.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune::problem {

// What is known of every row of a large shape for the price of reading V, and Q and K, once.
//
// A row of O is a mean of the rows of V that it sees, weighed by p: each of its elements lies
// between the least and the largest of that column of V among those keys, but for the kernel's
// errors. 64 neighbouring rows share one range, over all keys that any of them sees, to the next
// multiple of 64: so a tile of K left out, a row of another head that sees as many keys, or a wrong
// scale mostly stay within it. What leaves it is memory taken for data, sums not divided or divided
// twice over, exponentials of the wrong sign, and whatever else grows.
//
// `growth`: how much larger errors are than tolerance.hpp's noise says, as the sampled
// rows show it. The range is widened by growth times the bound of the largest element that it can
// hold, so by no less than what is allowed where the truth is known. Rows that see nothing are 0.
ValueBounds output_limits(const AttentionShape& shape, const Instance& instance, double growth);

// |LSE| <= the largest possible |score| of the head + log(Lk), -inf for a row that sees nothing.
// Scores: scale |q| |k| + the bias (or the cap + the bias), each at its largest in the head.
ValueBounds lse_limits(const AttentionShape& shape, const Instance& instance);

}  // namespace fa_tune::problem
