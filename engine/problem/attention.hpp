#pragma once

#include "engine/problem/attention_shape.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune {

// Scaled dot-product attention, forward. A kernel takes the tensors Q [B,H,Lq,D], K and V
// [B,H,Lk,D] and O [B,H,Lq,D], contiguous, and the scalars B, H, Lq, Lk (int32) and scale (float32,
// 1/sqrt(D)). Its source is told HEAD_DIM, CAUSAL, CAUSAL_BOTTOM_RIGHT and DTYPE_BF16 (the last
// three 0 or 1).
class AttentionProblem final : public Problem {
 public:
  explicit AttentionProblem(const AttentionShape& timed);

  std::string kind() const override { return "attention"; }
  const Constants& shape() const override { return constants_; }
  std::string describe(const Constants& shape) const override;
  std::vector<Suite> suites() const override;
  std::vector<std::pair<std::string, std::string>> defines(const Constants& shape) const override;
  Instance make(const Constants& shape, Inputs inputs, std::uint64_t seed) const override;
  std::vector<Expectation> expect(const Instance& instance) const override;
  // 2 for Q K^T and 2 for P V, times D, for each visible pair; the softmax itself is not counted.
  double flop(const Constants& shape) const override;
  // Q, K, V read once, O written once.
  double bytes(const Constants& shape) const override;

 private:
  AttentionShape timed_;
  Constants constants_;
};

// Suites around a timed shape: see attention_suites.cpp for what each is for.
std::vector<Suite> attention_suites(const AttentionShape& timed);

}  // namespace fa_tune
