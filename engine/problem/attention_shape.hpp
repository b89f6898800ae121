#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/value.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune {

// Which corner of the score matrix the causal diagonal starts from, where Lq != Lk.
//   top_left:     query q sees keys 0..q (PyTorch's is_causal)
//   bottom_right: the last query sees every key: query q sees keys 0..q + Lk - Lq (FlashAttention).
//                 With Lq > Lk the first Lq - Lk queries see nothing; their output is 0, not NaN.
enum class CausalAlignment { top_left, bottom_right };

// The sizes of one attention: O = softmax(scale * Q K^T + mask) V for each of B * H heads.
struct AttentionShape {
  std::int64_t B = 1;
  std::int64_t H = 1;
  std::int64_t Lq = 1;
  std::int64_t Lk = 1;
  std::int64_t D = 1;
  bool causal = false;
  CausalAlignment alignment = CausalAlignment::top_left;
  DType dtype = DType::f16;  // f16 or bf16: of Q, K, V and O

  static AttentionShape from(const Constants& constants);
  // B, H, Lq, Lk, D, causal, dtype ("fp16" or "bf16"), causal_alignment.
  Constants constants() const;

  // How many keys query `q` sees: always the first so many.
  std::int64_t visible_keys(std::int64_t q) const;
  // Query and key pairs that count, in one head.
  std::int64_t visible_pairs() const;
};

// From the settings of a space file: shape.B, shape.H, shape.D, and shape.Lq with shape.Lk or
// shape.L for both; causal (default false), causal_alignment (top_left), dtype (fp16), scale
// ('default': 1/sqrt(D)), layout (BHSD). Throws UserError, `where` first, for anything else.
AttentionShape parse_attention(const std::vector<std::pair<std::string, Value>>& settings,
                               const std::string& where);

}  // namespace fa_tune
