#pragma once

#include "engine/problem/attention/sample.hpp"
#include "engine/problem/attention/shape.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune::problem {

// Scaled dot-product attention, forward; AttentionShape says what is computed. A kernel takes
//   tensors  Q [B,H,Lq,D], K and V [B,Hkv,Lk,D], O [B,H,Lq,D], or the same as [B,L,H,D],
//   contiguous;
//            LSE, float32 [B,H,Lq], where it is asked for; alibi_slopes, float32 [H], with ALiBi;
//            with e4m3, where O is bf16, Q_scale, K_scale and V_scale, float32
//            [B, heads, blocks of scale_rows rows], all above zero; with v_scales powers_of_two V's
//            of one head are powers of two times each other
//   scalars  B, H, Hkv, Lq, Lk, window_left and window_right (int32, -1: no limit),
//            scale (1/sqrt(D)) and softcap (float32)
// Its source is told HEAD_DIM, KV_GROUP (heads of Q for one of K and V), and as 0 or 1 CAUSAL,
// CAUSAL_BOTTOM_RIGHT, DTYPE_E4M3, DTYPE_BF16 (what has 16 bits is bf16: with e4m3 O), LAYOUT_BSHD,
// WITH_LSE, WINDOW_LEFT and WINDOW_RIGHT (that side has a limit; not said of the right one where
// CAUSAL says it already), SOFTCAP, ALIBI and V_POWERS_OF_TWO; and SCALE_ROWS, 0 but with e4m3.
// What is 0 must cost nothing.
class AttentionProblem final : public Problem {
 public:
  // `work_cap`: from how much work on the truth is of a sample of rows; see RowSample.
  explicit AttentionProblem(const AttentionShape& timed, double work_cap = RowSample::kUsualCap);

  std::string kind() const override { return "attention"; }
  const Constants& shape() const override { return constants_; }
  Constants complete(const Constants& shape) const override;
  std::string describe(const Constants& shape) const override;
  std::vector<Suite> suites() const override;
  std::vector<Constants> hidden_shapes(std::uint64_t seed) const override;
  std::vector<std::pair<std::string, std::string>> defines(const Constants& shape) const override;
  // B, H (with groups of heads Hkv), Lq and Lk are free; all else is as it was tuned.
  SizeFormulas size_formulas() const override;
  Instance make(const Constants& shape, Inputs inputs, std::uint64_t seed) const override;
  Instance outline(const Constants& shape) const override;
  std::vector<Expectation> expect(const Instance& instance, Truth truth) const override;
  Coverage coverage(const Constants& shape, Truth truth) const override;
  std::vector<std::pair<std::string, std::string>> argument_notes(
      const Constants& shape) const override;
  // 2 for Q K^T and 2 for P V, times D, for each visible pair; the softmax itself is not counted.
  double flop(const Constants& shape) const override;
  // Q, K, V, slopes and scales read once, O and LSE written once.
  double bytes(const Constants& shape) const override;
  double tensor_speed() const override { return timed_.dtype == DType::e4m3 ? 2 : 1; }

 private:
  double cap(Truth truth) const;

  AttentionShape timed_;
  Constants constants_;
  double work_cap_;
};

// Suites around a timed shape: see suites.cpp for what each is for.
std::vector<Suite> attention_suites(const AttentionShape& timed);

// Inputs in the real dtype: the truth is computed from these very values, so their rounding is no
// error of the kernel. The same shape, kind and seed give the same bytes on every machine.
Instance make_attention(const AttentionShape& shape, Inputs inputs, std::uint64_t seed);
// The same without data.
Instance outline_attention(const AttentionShape& shape);

}  // namespace fa_tune::problem
