#include <fmt/core.h>
#include <fmt/ranges.h>

#include "engine/problem/attention.hpp"
#include "engine/problem/attention_rows.hpp"

namespace fa_tune {
namespace {

// "fp16 [B,S,H,D] = [1,512,8,64], closely packed".
std::string rows_note(const AttentionShape& shape, const RowOrder& rows) {
  return fmt::format("{} [{}] = [{}], closely packed", shape.dtype == DType::bf16 ? "bf16" : "fp16",
                     fmt::join(rows.axes(), ","), fmt::join(rows.dims(shape.D), ","));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> AttentionProblem::argument_notes(
    const Constants& shape) const {
  const AttentionShape s = AttentionShape::from(shape);
  const std::string keys = rows_note(s, key_rows(s));
  const std::string queries = rows_note(s, query_rows(s));
  return {
      {"Q", queries},
      {"K", keys},
      {"V", keys},
      {"O", queries + ", output"},
      {"LSE", fmt::format("float32 [B,H,S] = [{},{},{}], output: the natural logarithm of each "
                          "row's sum of exponentials of its scores (scaled, capped, with bias); "
                          "-inf for a row that sees no key",
                          s.B, s.H, s.Lq)},
      {"alibi_slopes", fmt::format("float32 [H] = [{}]: -slope * |i + Lk - Lq - j| is added to "
                                   "the score of query i and key j",
                                   s.H)},
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
