#include "engine/problem/attention.hpp"

#include <fmt/core.h>

#include "engine/problem/attention_inputs.hpp"
#include "engine/problem/attention_oracle.hpp"
#include "engine/problem/attention_tolerance.hpp"

namespace fa_tune {

AttentionProblem::AttentionProblem(const AttentionShape& timed)
    : timed_(timed), constants_(timed.constants()) {}

std::string AttentionProblem::describe(const Constants& shape) const {
  const AttentionShape s = AttentionShape::from(shape);
  std::string text = fmt::format("B={} H={} Lq={} Lk={} D={} {}", s.B, s.H, s.Lq, s.Lk, s.D,
                                 s.dtype == DType::bf16 ? "bf16" : "fp16");
  if (s.causal) text += " causal";
  // Which corner the diagonal starts from matters only if there is a choice.
  if (s.causal && s.Lq != s.Lk)
    text += s.alignment == CausalAlignment::bottom_right ? " bottom_right" : " top_left";
  return text;
}

std::vector<Suite> AttentionProblem::suites() const { return attention_suites(timed_); }

std::vector<std::pair<std::string, std::string>> AttentionProblem::defines(
    const Constants& shape) const {
  const AttentionShape s = AttentionShape::from(shape);
  const auto flag = [](bool value) { return std::string(value ? "1" : "0"); };
  return {{"HEAD_DIM", std::to_string(s.D)},
          {"CAUSAL", flag(s.causal)},
          {"CAUSAL_BOTTOM_RIGHT", flag(s.alignment == CausalAlignment::bottom_right)},
          {"DTYPE_BF16", flag(s.dtype == DType::bf16)}};
}

Instance AttentionProblem::make(const Constants& shape, Inputs inputs, std::uint64_t seed) const {
  return make_attention(AttentionShape::from(shape), inputs, seed);
}

std::vector<Expectation> AttentionProblem::expect(const Instance& instance) const {
  const AttentionShape s = AttentionShape::from(instance.shape);
  return {attention_expectation(s, attention_oracle(s, instance))};
}

double AttentionProblem::flop(const Constants& shape) const {
  const AttentionShape s = AttentionShape::from(shape);
  return 4.0 * static_cast<double>(s.B * s.H) * static_cast<double>(s.visible_pairs() * s.D);
}

double AttentionProblem::bytes(const Constants& shape) const {
  const AttentionShape s = AttentionShape::from(shape);
  const auto rows = static_cast<double>(2 * s.Lq + 2 * s.Lk);
  return static_cast<double>(s.B * s.H * s.D) * rows * static_cast<double>(size_of(s.dtype));
}

}  // namespace fa_tune
