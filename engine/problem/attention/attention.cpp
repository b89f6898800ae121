#include "engine/problem/attention/attention.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "engine/problem/attention/oracle.hpp"
#include "engine/problem/attention/shape.hpp"
#include "engine/problem/attention/tolerance.hpp"
#include "engine/problem/attention/value_bounds.hpp"

namespace fa_tune::problem {
namespace {

// How many times as much work the truth may be that is told to others.
constexpr double kThorough = 4;

}  // namespace

AttentionProblem::AttentionProblem(const AttentionShape& timed, double work_cap)
    : timed_(timed), constants_(timed.constants()), work_cap_(work_cap) {}

double AttentionProblem::cap(Truth truth) const {
  return truth == Truth::thorough ? kThorough * work_cap_ : work_cap_;
}

Constants AttentionProblem::complete(const Constants& shape) const {
  return AttentionShape::from(shape).complete();
}

std::string AttentionProblem::describe(const Constants& shape) const {
  const AttentionShape s = AttentionShape::from(shape);
  std::string text = fmt::format("B={} H={}", s.B, s.H);
  if (s.group() > 1) text += fmt::format(" Hkv={}", s.kv_heads());
  text += fmt::format(" Lq={} Lk={} D={} {}", s.Lq, s.Lk, s.D, to_text(s.dtype));
  if (s.dtype == DType::e4m3) text += fmt::format(" scale_rows={}", s.scale_rows);
  if (s.v_powers_of_two) text += " v_scales=powers_of_two";
  if (s.causal) text += " causal";
  if (s.windowed()) text += fmt::format(" window=[{},{}]", s.window_left, s.window_right);
  // Which corner the diagonal starts from matters only if there is a choice.
  if ((s.causal || s.windowed()) && s.Lq != s.Lk)
    text += s.alignment == CausalAlignment::bottom_right ? " bottom_right" : " top_left";
  if (s.softcap > 0) text += fmt::format(" softcap={}", s.softcap);
  if (s.alibi) text += " alibi";
  if (s.layout == Layout::BSHD) text += " BSHD";
  if (s.lse) text += " lse";
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
          {"DTYPE_BF16", flag(s.output_type() == DType::bf16)},
          {"DTYPE_E4M3", flag(s.dtype == DType::e4m3)},
          {"KV_GROUP", std::to_string(s.group())},
          {"LAYOUT_BSHD", flag(s.layout == Layout::BSHD)},
          {"WITH_LSE", flag(s.lse)},
          {"WINDOW_LEFT", flag(s.window_left >= 0)},
          {"WINDOW_RIGHT", flag(s.limited_right())},
          {"SOFTCAP", flag(s.softcap > 0)},
          {"ALIBI", flag(s.alibi)},
          {"SCALE_ROWS", std::to_string(s.scale_rows)},
          {"V_POWERS_OF_TWO", flag(s.v_powers_of_two)}};
}

Instance AttentionProblem::make(const Constants& shape, Inputs inputs, std::uint64_t seed) const {
  return make_attention(AttentionShape::from(shape), inputs, seed);
}

Instance AttentionProblem::outline(const Constants& shape) const {
  return outline_attention(AttentionShape::from(shape));
}

std::vector<Expectation> AttentionProblem::expect(const Instance& instance, Truth truth) const {
  const AttentionShape s = AttentionShape::from(instance.shape);
  const RowSample rows = RowSample::drawn(s, instance.seed, cap(truth));
  AttentionTruth computed = attention_oracle(s, instance, rows);
  const double growth = largest_growth(s, rows, computed);
  std::vector<Expectation> expectations;
  if (s.lse) expectations.push_back(lse_expectation(s, rows, computed));
  expectations.insert(expectations.begin(), attention_expectation(s, rows, std::move(computed)));
  if (rows.stride() > 1) {
    expectations[0].limits = output_limits(s, instance, growth);
    if (s.lse) expectations[1].limits = lse_limits(s, instance);
  }
  return expectations;
}

Coverage AttentionProblem::coverage(const Constants& shape, Truth truth) const {
  const AttentionShape s = AttentionShape::from(shape);
  // Which rows are drawn depends on a seed, how many does but for what is an edge as well.
  const RowSample rows = RowSample::drawn(s, 0, cap(truth));
  return {.rows = static_cast<std::int64_t>(rows.size()),
          .of = s.B * s.H * s.Lq,
          .every = static_cast<std::int64_t>(rows.stride())};
}

double AttentionProblem::flop(const Constants& shape) const {
  const AttentionShape s = AttentionShape::from(shape);
  return 4.0 * static_cast<double>(s.B * s.H) * static_cast<double>(s.visible_pairs() * s.D);
}

double AttentionProblem::bytes(const Constants& shape) const {
  const AttentionShape s = AttentionShape::from(shape);
  const std::int64_t rows_in = s.H * s.Lq + 2 * s.kv_heads() * s.Lk;
  const std::int64_t rows_out = s.H * s.Lq;
  std::int64_t single = (s.lse ? s.B * s.H * s.Lq : 0) + (s.alibi ? s.H : 0);
  if (s.scale_rows > 0)
    single += s.B * (s.H * s.scale_blocks(s.Lq) + 2 * s.kv_heads() * s.scale_blocks(s.Lk));
  return static_cast<double>(s.B * rows_in * s.D) * static_cast<double>(size_of(s.dtype)) +
         static_cast<double>(s.B * rows_out * s.D) * static_cast<double>(size_of(s.output_type())) +
         static_cast<double>(single) * static_cast<double>(size_of(DType::f32));
}

namespace {

// "fp16 [B,S,H,D] = [1,512,8,64], closely packed".
std::string rows_note(DType dtype, const RowOrder& rows, std::int64_t D) {
  return fmt::format("{} [{}] = [{}], closely packed", to_text(dtype), fmt::join(rows.axes(), ","),
                     fmt::join(rows.dims(D), ","));
}

std::string scales_note(const AttentionShape& shape, std::int64_t heads, std::int64_t length) {
  if (shape.scale_rows == 0) return "";
  return fmt::format(
      "float32 [B,H,blocks] = [{},{},{}]: what {} rows' elements are multiplied by, "
      "above zero",
      shape.B, heads, shape.scale_blocks(length), shape.scale_rows);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> AttentionProblem::argument_notes(
    const Constants& shape) const {
  const AttentionShape s = AttentionShape::from(shape);
  const std::string keys = rows_note(s.dtype, key_rows(s), s.D);
  const std::string key_scales = scales_note(s, s.kv_heads(), s.Lk);
  return {
      {"Q", rows_note(s.dtype, query_rows(s), s.D)},
      {"K", keys},
      {"V", keys},
      {"O", rows_note(s.output_type(), query_rows(s), s.D) + ", output"},
      {"LSE", fmt::format("float32 [B,H,S] = [{},{},{}], output: the natural logarithm of each "
                          "row's sum of exponentials of its scores (scaled, capped, with bias); "
                          "-inf for a row that sees no key",
                          s.B, s.H, s.Lq)},
      {"alibi_slopes", fmt::format("float32 [H] = [{}]: -slope * |i + Lk - Lq - j| is added to "
                                   "the score of query i and key j",
                                   s.H)},
      {"Q_scale", scales_note(s, s.H, s.Lq)},
      {"K_scale", key_scales},
      {"V_scale",
       key_scales + (s.v_powers_of_two ? ", of one head powers of two times each other" : "")},
      {"B", "int32, batches"},
      {"H", "int32, heads of Q"},
      {"Hkv", "int32, heads of K and V"},
      {"Lq", "int32, queries"},
      {"Lk", "int32, keys"},
      {"scale", "float32, of the scores: 1 / sqrt(D)"},
      {"window_left", "int32, keys that a query sees before its own"},
      {"window_right", "int32, keys that a query sees after its own"},
      {"softcap", "float32: scores become softcap * tanh(score / softcap)"}};
}

}  // namespace fa_tune::problem
