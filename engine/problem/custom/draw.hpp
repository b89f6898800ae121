#pragma once

#include <cstdint>
#include <string>

#include "engine/problem/custom/spec.hpp"
#include "engine/problem/custom/tolerance.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune::problem {

// Draws the elements of tensors whose fill is a distribution, each kind of inputs in its way.
class TensorDraw {
 public:
  // `spec` must outlive it.
  TensorDraw(const CustomSpec& spec, Inputs inputs, std::uint64_t seed);

  // Fills `tensor`, whose type and sizes are set.
  void fill(Tensor& tensor, const Distribution& distribution) const;

 private:
  // Rows of a tensor that was drawn as the distribution asks for them.
  void put_in_order(Tensor& tensor, const Distribution& distribution) const;

  // What Inputs::large_logits does to the rows of a tensor: a few elements of some are 30 times as
  // large, others lie so far below zero as a whole that expf gives 0 for all of their elements.
  struct LargeLogits {
    bool outliers = true;
    bool low_rows = false;
  };
  // Rows of both sorts in every tensor. Only where fp16 has to hold products of several tensors,
  // one of them has low rows and none has outliers, or all have outliers: together they would leave
  // its range.
  LargeLogits large_logits_of(const Tensor& tensor) const;

  // By what the rows of Inputs::distinct_rows and the low ones of large_logits are multiplied, at
  // most 1: where fp16 has to hold sums of products of two rows, as many elements as a long row has
  // would leave its range.
  double nearer(std::size_t row_length) const;

  Inputs inputs_;
  std::uint64_t seed_;
  bool apart_ = false;           // fp16 has to hold products of several tensors
  std::string low_;              // then the tensor with low rows, if one has
  std::uint64_t first_low_ = 0;  // low: rows whose number and this are even together
};

// Other inputs by which noise is drawn (tolerance.hpp). What was drawn from a normal or uniform
// distribution is moved, each element nearer to 0, within the bounds of a uniform one. Integers,
// constants and the user's own data stay, since a kernel may count on what they are.

// Inputs that float arithmetic takes for the same: moved by up to the last place of a float, into
// `wide`, which is the instance widened or another move of it. Correct kernels may compute exactly
// what is correct for such inputs (this is backward stability), so what lies between their
// results is noise no kernel can be blamed for: e^-60 as 2^(-60 log2 e) is off by 3e-6 of itself.
// Numbers below the normal ones of a float become 0 where all move alike, as they do for a kernel
// that was compiled so.
void move_near(const CustomSpec& spec, const Instance& instance, Move how, std::uint64_t seed,
               Instance& wide);

// Inputs of the same size whose low bits are others, so that sums of them are rounded elsewhere: of
// an instance in its own types, moved by up to a 4096th, or by their last place where that is more.
// In the memory of an earlier one, as widened() is.
Instance redrawn(const CustomSpec& spec, const Instance& instance, std::uint64_t seed,
                 Instance memory = {});

}  // namespace fa_tune::problem
