#pragma once

#include <cstdint>
#include <string>

#include "engine/problem/custom/spec.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune {

// Draws the elements of tensors whose fill is a distribution, each kind of inputs in its way.
class TensorDraw {
 public:
  // `spec` must outlive it.
  TensorDraw(const CustomSpec& spec, Inputs inputs, std::uint64_t seed);

  // Fills `tensor`, whose type and sizes are set.
  void fill(Tensor& tensor, const Distribution& distribution) const;

 private:
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

  Inputs inputs_;
  std::uint64_t seed_;
  bool apart_ = false;           // low rows and outliers, of large logits
  std::string low_;              // then the tensor with low rows, if one has
  std::uint64_t first_low_ = 0;  // low: rows whose number and this are even together
};

}  // namespace fa_tune
