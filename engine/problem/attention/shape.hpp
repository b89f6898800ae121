#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/problem/problem.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune::problem {

// Where the diagonal starts from, if Lq != Lk: query q stands at key q, or at key q + Lk - Lq.
//   top_left:     PyTorch's is_causal
//   bottom_right: the last query stands at the last key (FlashAttention)
// What a query stands at is where its causal prefix ends and what a window lies around. A query
// that sees nothing has the output 0, not NaN, and the LSE -inf.
enum class CausalAlignment { top_left, bottom_right };

// Of Q, K, V and O, outermost dimension first.
enum class Layout { BHSD, BSHD };

// Keys [first, end) of one head; none where first == end.
struct KeyRange {
  std::int64_t first = 0;
  std::int64_t end = 0;

  std::int64_t count() const { return end - first; }
};

// One attention: for each of B * H heads
//   S = cap(scale * Q K^T) + bias      cap(s) = softcap * tanh(s / softcap), or s without one
//   O = softmax(S + mask) V            bias = -slope * |q + Lk - Lq - key|, with ALiBi
//   LSE = log(sum over visible keys of exp(S))
// FlashAttention's documentation has the same bias (bottom right, whatever the mask does) and the
// same window: `window_left` keys before and `window_right` keys after the one a query stands at.
struct AttentionShape {
  std::int64_t B = 1;
  std::int64_t H = 1;  // of Q and O
  std::int64_t Lq = 1;
  std::int64_t Lk = 1;
  std::int64_t D = 1;
  bool causal = false;
  CausalAlignment alignment = CausalAlignment::top_left;
  DType dtype = DType::f16;  // f16, bf16 or e4m3: of Q, K and V; see output_type()
  std::int64_t Hkv = 0;      // of K and V, a divisor of H; 0 stands for H
  Layout layout = Layout::BHSD;
  bool lse = false;               // write LSE too, float32 [B,H,Lq] in any layout
  std::int64_t window_left = -1;  // -1: no limit
  std::int64_t window_right = -1;
  double softcap = 0;  // 0: none
  bool alibi = false;  // slopes are an input, float32 [H]
  // With e4m3, and 0 else: how many rows of a head (of Q, of K, of V), from its first on, share a
  // scale, by which what their bytes say is multiplied. Scales are inputs, float32.
  std::int64_t scale_rows = 0;
  // V's scales of one head differ by powers of two alone: a promise of the caller's.
  bool v_powers_of_two = false;

  static AttentionShape from(const Constants& constants);
  // B, H, Lq, Lk, D, causal, dtype ("fp16", "bf16" or "e4m3"), causal_alignment; of the others what
  // is not at its default.
  Constants constants() const;
  // For expressions: all of them, but of softcap, which is no integer, whether there is one
  // (`capped`); and `group`, how many heads of Q share one of K and V.
  Constants complete() const;

  std::int64_t kv_heads() const { return Hkv == 0 ? H : Hkv; }
  std::int64_t group() const { return H / kv_heads(); }
  // Of O: e4m3 is too coarse for a result.
  DType output_type() const { return dtype == DType::e4m3 ? DType::bf16 : dtype; }
  // Scales of a head of `rows` rows.
  std::int64_t scale_blocks(std::int64_t rows) const {
    return (rows + scale_rows - 1) / scale_rows;
  }
  // Causal says it already.
  bool limited_right() const { return window_right >= 0 && !causal; }
  bool windowed() const { return window_left >= 0 || limited_right(); }

  KeyRange visible(std::int64_t q) const;
  // Query and key pairs that count, in one head.
  std::int64_t visible_pairs() const;
};

// From the settings of a space file: shape.B, shape.H, shape.Hkv, shape.D, and shape.Lq with
// shape.Lk or shape.L for both; causal (default false), causal_alignment (top_left), dtype (fp16),
// scale ('default': 1/sqrt(D)), layout (BHSD), lse (false), window ([-1, -1], here "window.0" and
// "window.1"), softcap (0), alibi (false), with dtype e4m3 scale_rows (128) and v_scales (any).
// Throws UserError, `where` first, for anything else.
AttentionShape parse_attention(const std::vector<std::pair<std::string, Value>>& settings,
                               const std::string& where);

// "fp16", "bf16", "e4m3": as settings and shapes have it.
std::string to_text(DType dtype);

// Where the rows of D elements of Q, K, V or O lie in memory.
class RowOrder {
 public:
  RowOrder(Layout layout, std::int64_t batches, std::int64_t heads, std::int64_t length)
      : layout_(layout), batches_(batches), heads_(heads), length_(length) {}

  // The place of a row, in rows; `head` counts through all batches.
  std::size_t operator()(std::size_t head, std::size_t position) const {
    const auto heads = static_cast<std::size_t>(heads_);
    const auto length = static_cast<std::size_t>(length_);
    if (layout_ == Layout::BHSD) return head * length + position;
    return (head / heads * length + position) * heads + head % heads;
  }

  // As Tensor has them.
  std::vector<std::int64_t> dims(std::int64_t D) const {
    if (layout_ == Layout::BHSD) return {batches_, heads_, length_, D};
    return {batches_, length_, heads_, D};
  }
  std::string axes() const { return layout_ == Layout::BHSD ? "BHSD" : "BSHD"; }

 private:
  Layout layout_;
  std::int64_t batches_, heads_, length_;
};

inline RowOrder query_rows(const AttentionShape& shape) {
  return {shape.layout, shape.B, shape.H, shape.Lq};
}
inline RowOrder key_rows(const AttentionShape& shape) {
  return {shape.layout, shape.B, shape.kv_heads(), shape.Lk};
}

// The head of K and V that a head of Q reads, both counted through all batches.
inline std::size_t kv_head_of(const AttentionShape& shape, std::size_t head) {
  return head / static_cast<std::size_t>(shape.group());
}

}  // namespace fa_tune::problem
