#pragma once

#include "engine/problem/attention/oracle.hpp"
#include "engine/problem/attention/sample.hpp"
#include "engine/problem/attention/shape.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune::problem {

// How far a correct kernel may be from the truth.
//
// Where errors come from, if scores, softmax and sums are kept in float32:
//  1. P is rounded to the dtype. Relative to p the rounding error is uniform within u / x, where u
//  is
//     the unit roundoff (2^-11 for f16, 2^-8 for bf16, 2^-4 for e4m3) and x in [1, 2) p's
//     significand; over x distributed as 1/x its standard deviation is u * sqrt(3 / (8 ln 2) / 3) =
//     0.425 u. Which way each p is rounded depends on what it is relative to (the row's maximum,
//     the running one, a stale one, the sum): another tiling is another draw, so a bound must rest
//     on the distribution and not on one computation's luck. Where all p of a row are nearly one
//     value (within 4 u), they may lie astride a rounding boundary, half of them off by +u and half
//     by -u: there it is u. In e4m3 a p stands for 2^8 p (precision.hpp). Q, K and V are
//     what their bits and scales say: that they were rounded to begin with is no error.
//  2. O is rounded to its type: uniform within half a unit in the last place of O.
// Hence noise = hypot(0.425 u (or u) * spread, half_ulp(O) / sqrt(3)), an element's standard
// deviation. Float32 adds about a tenth of it at most. The trusted computation says whether that
// holds for the data at hand: where its error is more than the noise over a head (root mean
// square), the noise of that head grows by the ratio. With e4m3 it adds as Hopper's tensor cores
// do, which keep 14 bits of a sum: over thousands of keys, or with large scores, that is most of
// the error.
//
//   bound            = 8 * noise. Two million elements of a normal distribution stay within 5.3.
//   rms_bound        = f(n) * the relative RMS that the noise gives; n: the rows that matter,
//                      (sum e)^2 / (sum e^2) for the rows' noise energies e.
//   scaled_rms_bound = f(rows) / 8, of errors in units of the bound.
//   f(n)             = 1.25 + 2 / sqrt(n). Within one row with one large p all errors are the same
//                      draw, so n counts rows and not elements. 1.25 leaves room for what is not
//                      modelled; accumulating in 16 bits makes the RMS 1.6 times as large or more.
//
// A row without a visible key must be 0 exactly.
//
// Of a sample of rows all of this is said as if they were all; heads count by their sampled rows.
Expectation attention_expectation(const AttentionShape& shape, const RowSample& rows,
                                  AttentionTruth truth);
// By how much the noise grew in the head where it grew most; 1 or more.
double largest_growth(const AttentionShape& shape, const RowSample& rows,
                      const AttentionTruth& truth);
// The bound of an element of this size whose row has a single p, before it grows: no element of a
// row whose V holds nothing larger can have a larger one.
double largest_bound(const AttentionShape& shape, double size);

// The same of the rows' LSE, which nothing rounds to the dtype. It serves to make P again in a
// backward pass, exp(S - LSE), and an error of it is a relative error of every such p. So
//   bound = 2^-13 + 2^-23 * ((D / 8 + 4) * score size + 4 |LSE|)
// with, first, a quarter of fp16's unit roundoff: small beside the rounding of that P, and room for
// exponentials by polynomial (relative error 7.5e-5). Then what float32 does to a score: a tensor
// core may cut off a last bit of the sum at each of its steps, 8 deep or more, and forming the
// exponent takes a few roundings. The float32 part grows with the trusted computation's error, as
// above. With e4m3 a score is 2^-12 sqrt(D / 32) * score size off in place of that: a step, 32
// deep, cuts some 33 terms off at 2^-13 of the largest, whose signs differ, so it adds sqrt(33) /
// sqrt(3) such units in the root mean square; the largest is about a third of the score size, and
// two deviations are allowed. -inf, of a row that sees nothing, must be met exactly.
Expectation lse_expectation(const AttentionShape& shape, const RowSample& rows,
                            const AttentionTruth& truth);

}  // namespace fa_tune::problem
