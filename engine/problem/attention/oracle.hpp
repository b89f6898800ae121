#pragma once

#include <vector>

#include "engine/problem/attention/sample.hpp"
#include "engine/problem/attention/shape.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune::problem {

// Attention of one instance, computed three ways at once, for the rows of a sample, in its order,
// head after head and row after row, whatever the layout. Of all rows that is [B,H,Lq,D].
struct AttentionTruth {
  // The plain formula in float64 from the rounded inputs: the largest score is subtracted before
  // the exponential, nothing else is done to it.
  std::vector<double> exact;
  // What a kernel of the dtype gives when nothing is wrong with it: scores, exponentials and sums
  // in float32 (with e4m3 sums of products as Hopper's tensor cores make them), unnormalized P
  // (relative to the row's largest score) rounded to the dtype, O rounded.
  std::vector<double> trusted;
  // sqrt(sum over keys of (p v)^2) / sum of p: times the relative error of an element of P, this is
  // the standard deviation that rounding P gives to an element of O. A p that is subnormal in f16
  // counts as the larger value whose relative error is the absolute one that it suffers.
  std::vector<float> spread;
  // For each row of O: the standard deviation of its visible p over their mean; 0 for a flat row.
  std::vector<float> p_variation;

  // Of each row, the logarithm of its sum of exponentials in float64 and in float32; -inf where it
  // sees nothing.
  std::vector<double> lse_exact;
  std::vector<float> lse_trusted;
  // Of each row, where LSE is asked for, the magnitudes that go into one of its scores: scale |q|
  // |k|, the bias and the cap, each at its largest.
  std::vector<float> score_size;
};

AttentionTruth attention_oracle(const AttentionShape& shape, const Instance& instance,
                                const RowSample& rows);

}  // namespace fa_tune::problem
