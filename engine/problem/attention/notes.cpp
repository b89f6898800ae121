#include <fmt/core.h>
#include <fmt/ranges.h>

#include "engine/problem/attention/attention.hpp"
#include "engine/problem/attention/shape.hpp"

namespace fa_tune {
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
      {"V_scale", key_scales},
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

}  // namespace fa_tune
