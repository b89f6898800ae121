#include "tests/engine/problem/host_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "engine/base/half.hpp"

namespace fa_tune {
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

// One query against one head.
class Row {
 public:
  Row(const HostAttention& kernel, const AttentionShape& shape, float scale, const float* q,
      const float* k, const float* v, std::int64_t visible)
      : kernel_(kernel),
        shape_(shape),
        factor_(scale * kernel.scale_factor * (kernel.exp2 ? std::numbers::log2e_v<float> : 1.0F)),
        q_(q),
        k_(k),
        v_(v),
        visible_(visible),
        output_(static_cast<std::size_t>(shape.D), Accumulator(kernel.output, shape.dtype)) {}

  std::vector<float> attend() {
    const std::int64_t tile = kernel_.tile;
    const std::int64_t tiles = (visible_ + tile - 1) / tile;
    if (kernel_.p == HostAttention::P::normalized) normalize();
    for (std::int64_t n = 0; n < tiles; ++n) {
      const std::int64_t at = kernel_.backwards ? tiles - 1 - n : n;
      if (kernel_.drop_last_tile && at == tiles - 1 && tiles > 1) continue;
      if (kernel_.drop_first_tile && at == 0 && tiles > 1) continue;
      take(at * tile, std::min(visible_, (at + 1) * tile));
      if (kernel_.tile_twice && at == 0 && tiles > 1) take(0, tile);
    }
    std::vector<float> result;
    result.reserve(output_.size());
    for (Accumulator& each : output_) result.push_back(each.value() / sum_);
    return result;
  }

 private:
  float exponential(float x) const { return kernel_.exp2 ? std::exp2(x) : std::exp(x); }

  float score(std::int64_t key) const {
    if (key >= shape_.Lk) return 0;  // what a load past the end is filled with
    Accumulator sum(kernel_.scores, shape_.dtype);
    for (std::int64_t d = 0; d < shape_.D; ++d) sum.add(q_[d] * k_[key * shape_.D + d]);
    return sum.value() * factor_;
  }

  float value(std::int64_t key, std::int64_t d) const {
    if (key >= shape_.Lk) return 0;
    if (kernel_.transposed_v)
      return v_[(key * shape_.D + d) % shape_.Lk * shape_.D + key % shape_.D];
    return v_[key * shape_.D + d];
  }

  // A first pass for the row's maximum and sum, so that P comes out normalized.
  void normalize() {
    for (std::int64_t key = 0; key < visible_; ++key) max_ = std::max(max_, score(key));
    norm_ = 0;
    for (std::int64_t key = 0; key < visible_; ++key) norm_ += exponential(score(key) - max_);
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
  float factor_;
  const float *q_, *k_, *v_;
  std::int64_t visible_;
  std::vector<Accumulator> output_;
  float max_ = -std::numeric_limits<float>::infinity();
  float norm_ = 1;
  float sum_ = 0;
};

// How many keys a query of this kernel takes in, faults included.
std::int64_t keys_taken(const HostAttention& kernel, AttentionShape shape, std::int64_t q) {
  if (kernel.ignore_causal) shape.causal = false;
  if (kernel.other_alignment)
    shape.alignment = shape.alignment == CausalAlignment::top_left ? CausalAlignment::bottom_right
                                                                   : CausalAlignment::top_left;
  std::int64_t keys = std::max<std::int64_t>(0, shape.visible_keys(q) + kernel.mask_shift);
  // A causal kernel still stops at the end of K; one that is not has only that end to get wrong.
  if (shape.causal) keys = std::min(keys, shape.Lk);
  if (kernel.zero_scores_past_end && keys >= shape.Lk)
    keys = (shape.Lk + kernel.tile - 1) / kernel.tile * kernel.tile;
  return keys;
}

}  // namespace

void HostAttention::run(const AttentionShape& shape, float scale, std::span<const std::uint16_t> Q,
                        std::span<const std::uint16_t> K, std::span<const std::uint16_t> V,
                        std::span<std::uint16_t> O) const {
  const std::vector<float> q = widen(shape.dtype, Q);
  const std::vector<float> k = widen(shape.dtype, K);
  const std::vector<float> v = widen(shape.dtype, V);
  const std::int64_t heads = shape.B * shape.H;
  for (std::int64_t row = 0; row < heads * shape.Lq; ++row) {
    const std::int64_t head = row / shape.Lq;
    const std::int64_t source =
        (head_of_neighbour ? (head + 1) % heads : head) * shape.Lk * shape.D;
    const std::int64_t keys = keys_taken(*this, shape, row % shape.Lq);
    std::vector<float> result(static_cast<std::size_t>(shape.D), 0.0F);
    if (keys > 0 || nan_where_nothing_is_seen)
      result = Row(*this, shape, scale, &q[row * shape.D], &k[source], &v[source], keys).attend();
    for (std::int64_t d = 0; d < shape.D; ++d) {
      const float value = result[static_cast<std::size_t>(d)];
      O[row * shape.D + d] = shape.dtype == DType::bf16 ? to_bf16(value) : to_f16(value);
    }
  }
}

}  // namespace fa_tune
