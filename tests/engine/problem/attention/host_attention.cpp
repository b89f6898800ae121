#include "tests/engine/problem/attention/host_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "engine/util/half.hpp"

namespace fa_tune::test {

using namespace fa_tune::problem;
namespace {

using Sum = HostAttention::Sum;

float round16(DType dtype, float value) {
  return dtype == DType::bf16 ? round_to_bf16(value) : round_to_f16(value);
}

std::vector<float> widen(DType dtype, std::span<const std::uint16_t> bits) {
  std::vector<float> values(bits.size());
  std::transform(bits.begin(), bits.end(), values.begin(), [&](std::uint16_t each) {
    return dtype == DType::bf16 ? from_bf16(each) : from_f16(each);
  });
  return values;
}

// An accumulator of one of the three kinds.
class Accumulator {
 public:
  Accumulator(Sum kind, DType dtype) : kind_(kind), dtype_(dtype) {}
  void scale(float factor) { value_ = rounded(value_ * factor); }
  void add(float product) {
    pending_ += product;
    if (kind_ != Sum::f16_by_16 || ++count_ == 16) flush();
  }
  float value() {
    flush();
    return value_;
  }
  void flush() {
    value_ = rounded(value_ + pending_);
    pending_ = 0;
    count_ = 0;
  }

 private:
  float rounded(float value) const { return kind_ == Sum::f32 ? value : round16(dtype_, value); }

  Sum kind_;
  DType dtype_;
  float value_ = 0;
  float pending_ = 0;
  int count_ = 0;
};

// Rows of D elements, `stride` elements apart.
struct HeadRows {
  const float* first;
  std::int64_t stride;

  const float* row(std::int64_t index) const { return first + index * stride; }
};

// One query against one head.
class Row {
 public:
  Row(const HostAttention& kernel, const AttentionShape& shape, float scale, std::int64_t query,
      const float* q, const HeadRows& k, const HeadRows& v, const KeyRange& keys, float slope)
      : kernel_(kernel),
        shape_(shape),
        scale_(scale * kernel.scale_factor),
        base_(kernel.exp2 ? std::numbers::log2e_v<float> : 1.0F),
        query_(query),
        slope_(slope),
        q_(q),
        k_(k),
        v_(v),
        keys_(keys),
        output_(static_cast<std::size_t>(shape.D), Accumulator(kernel.output, shape.dtype)) {}

  std::vector<float> attend() {
    const std::int64_t tile = kernel_.tile;
    const std::int64_t first = keys_.first / tile;
    const std::int64_t last = (keys_.end + tile - 1) / tile - 1;
    if (kernel_.p == HostAttention::P::normalized) normalize();
    for (std::int64_t n = first; n <= last; ++n) {
      const std::int64_t at = kernel_.backwards ? first + last - n : n;
      if (kernel_.drop_last_tile && at == last && first < last) continue;
      if (kernel_.drop_first_tile && at == first && first < last) continue;
      take(std::max(keys_.first, at * tile), std::min(keys_.end, (at + 1) * tile));
      if (kernel_.tile_twice && at == first && first < last)
        take(std::max(keys_.first, at * tile), (at + 1) * tile);
    }
    std::vector<float> result;
    result.reserve(output_.size());
    for (Accumulator& each : output_) result.push_back(each.value() / sum_);
    return result;
  }

  float lse() const {
    const float sum = kernel_.p == HostAttention::P::normalized ? norm_ : sum_;
    const float largest = kernel_.lse_of_sum_alone ? 0 : max_;
    if (kernel_.lse_in_log2) return std::log2(sum) + largest * std::numbers::log2e_v<float> / base_;
    return std::log(sum) + largest / base_;
  }

 private:
  float exponential(float x) const { return kernel_.exp2 ? std::exp2(x) : std::exp(x); }

  float score(std::int64_t key) const {
    if (key >= shape_.Lk) return 0;  // what a load past the end is filled with
    Accumulator sum(kernel_.scores, shape_.dtype);
    for (std::int64_t d = 0; d < shape_.D; ++d) sum.add(q_[d] * k_.row(key)[d]);
    const auto cap = static_cast<float>(kernel_.ignore_cap ? 0 : shape_.softcap);
    if (cap == 0 && !shape_.alibi) return sum.value() * (scale_ * base_);
    float score = sum.value();
    if (kernel_.cap_before_scale) {
      score = cap * std::tanh(score / cap) * scale_;
    } else {
      score *= scale_;
      if (cap > 0) score = cap * std::tanh(score / cap);
    }
    const std::int64_t shift = kernel_.alibi_from_top_left ? 0 : shape_.Lk - shape_.Lq;
    const auto bias = slope_ * static_cast<float>(std::abs(query_ + shift - key));
    return base_ * (kernel_.alibi_towards_far ? score + bias : score - bias);
  }

  float value(std::int64_t key, std::int64_t d) const {
    if (key >= shape_.Lk) return 0;
    if (kernel_.transposed_v) return v_.row((key * shape_.D + d) % shape_.Lk)[key % shape_.D];
    return v_.row(key)[d];
  }

  // A first pass for the row's maximum and sum, so that P comes out normalized.
  void normalize() {
    for (std::int64_t key = keys_.first; key < keys_.end; ++key) max_ = std::max(max_, score(key));
    norm_ = 0;
    for (std::int64_t key = keys_.first; key < keys_.end; ++key)
      norm_ += exponential(score(key) - max_);
  }

  void take(std::int64_t first, std::int64_t last) {
    std::vector<float> p;
    for (std::int64_t key = first; key < last; ++key) p.push_back(score(key));
    if (kernel_.p != HostAttention::P::normalized) raise(*std::max_element(p.begin(), p.end()));
    for (std::int64_t key = first; key < last; ++key) {
      float& weight = p[static_cast<std::size_t>(key - first)];
      weight = exponential(weight - max_) / norm_;
      const float kept =
          kernel_.p == HostAttention::P::exact ? weight : round16(shape_.dtype, weight);
      sum_ += kernel_.p == HostAttention::P::normalized ? 0
              : kernel_.sum_of_rounded_p                ? kept
                                                        : weight;
      weight = kept;
    }
    if (kernel_.p == HostAttention::P::normalized) sum_ = 1;
    for (std::int64_t d = 0; d < shape_.D; ++d) {
      Accumulator& out = output_[static_cast<std::size_t>(d)];
      for (std::int64_t key = first; key < last; ++key)
        out.add(p[static_cast<std::size_t>(key - first)] * value(key, d));
      out.flush();
    }
  }

  void raise(float largest) {
    if (kernel_.no_max) {
      max_ = 0;
      return;
    }
    const float threshold = kernel_.p == HostAttention::P::stale_max ? 8 : 0;
    if (!(largest > max_ + threshold)) return;
    const float factor = exponential(max_ - largest);
    max_ = largest;
    if (kernel_.rescale_sum) sum_ *= factor;
    if (!kernel_.rescale) return;
    for (Accumulator& each : output_) each.scale(factor);
  }

  const HostAttention& kernel_;
  const AttentionShape& shape_;
  float scale_;
  float base_;  // what turns a score into the exponent of 2 or e
  std::int64_t query_;
  float slope_;
  const float* q_;
  HeadRows k_, v_;
  KeyRange keys_;
  std::vector<Accumulator> output_;
  float max_ = -std::numeric_limits<float>::infinity();
  float norm_ = 1;
  float sum_ = 0;
};

// Which keys a query of this kernel takes in, faults included.
KeyRange keys_taken(const HostAttention& kernel, AttentionShape shape, std::int64_t q) {
  if (kernel.ignore_causal) shape.causal = false;
  if (kernel.ignore_window) shape.window_left = shape.window_right = -1;
  if (kernel.other_alignment)
    shape.alignment = shape.alignment == CausalAlignment::top_left ? CausalAlignment::bottom_right
                                                                   : CausalAlignment::top_left;
  KeyRange keys = shape.visible(q);
  if (shape.window_left >= 0)
    keys.first = std::clamp<std::int64_t>(keys.first - kernel.window_shift, 0, keys.end);
  keys.end = std::max(keys.first, keys.end + kernel.mask_shift);
  // A masked row's kernel still stops at the end of K; any other has only that end to get wrong.
  if (shape.causal || shape.limited_right()) keys.end = std::min(keys.end, shape.Lk);
  if (kernel.zero_scores_past_end && keys.end >= shape.Lk)
    keys.end = (shape.Lk + kernel.tile - 1) / kernel.tile * kernel.tile;
  return keys;
}

// Where head `head` (through all batches) begins, and how far its rows are apart.
HeadRows head_rows(const float* tensor, Layout layout, std::int64_t head, std::int64_t heads,
                   std::int64_t length, std::int64_t D) {
  if (layout == Layout::BHSD) return {tensor + head * length * D, D};
  return {tensor + (head / heads * length * heads + head % heads) * D, heads * D};
}

}  // namespace

void HostAttention::run(const AttentionShape& shape, float scale, const Tensors& tensors) const {
  const std::vector<float> q = widen(shape.dtype, tensors.Q);
  const std::vector<float> k = widen(shape.dtype, tensors.K);
  const std::vector<float> v = widen(shape.dtype, tensors.V);
  std::vector<float> out(q.size());
  const std::int64_t kv_heads = shape.kv_heads();
  const Layout layout =
      (shape.layout == Layout::BSHD) != other_layout ? Layout::BSHD : Layout::BHSD;
  for (std::int64_t row = 0; row < shape.B * shape.H * shape.Lq; ++row) {
    const std::int64_t head = row / shape.Lq;
    const std::int64_t query = row % shape.Lq;
    const std::int64_t in_batch = head % shape.H;
    std::int64_t source = head / shape.H * kv_heads +
                          (kv_head_by_remainder ? in_batch % kv_heads : in_batch / shape.group());
    if (head_of_neighbour) source = (source + 1) % (shape.B * kv_heads);
    const KeyRange keys = keys_taken(*this, shape, query);
    const HeadRows rows = head_rows(q.data(), layout, head, shape.H, shape.Lq, shape.D);
    const float slope =
        shape.alibi ? tensors.slopes[(in_batch + (slope_of_neighbour ? 1 : 0)) % shape.H] : 0;
    Row attention(*this, shape, scale, query, rows.row(query),
                  head_rows(k.data(), layout, source, kv_heads, shape.Lk, shape.D),
                  head_rows(v.data(), layout, source, kv_heads, shape.Lk, shape.D), keys, slope);
    std::vector<float> result(static_cast<std::size_t>(shape.D), 0.0F);
    if (keys.count() > 0 || nan_where_nothing_is_seen) result = attention.attend();
    std::copy(result.begin(), result.end(), out.begin() + (rows.row(query) - q.data()));
    if (!shape.lse) continue;
    const std::int64_t place =
        lse_by_position ? (head / shape.H * shape.Lq + query) * shape.H + in_batch : row;
    tensors.lse[place] = keys.count() == 0 && lse_zero_where_nothing_is_seen ? 0 : attention.lse();
  }
  std::transform(out.begin(), out.end(), tensors.O.begin(), [&](float value) {
    return shape.dtype == DType::bf16 ? to_bf16(value) : to_f16(value);
  });
}

}  // namespace fa_tune::test
