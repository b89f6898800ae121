#include "engine/problem/attention_oracle.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <type_traits>

#include "engine/base/half.hpp"
#include "engine/problem/attention_elements.hpp"
#include "engine/problem/attention_precision.hpp"
#include "engine/problem/attention_rows.hpp"
#include "engine/problem/attention_sums.hpp"

// How it is made fast: scores and output are sums of rows (attention_sums.hpp). Keys go in tiles
// that stay in the first cache while a block of queries passes over them.

namespace fa_tune {
namespace {

constexpr std::size_t key_tile = 32;
constexpr std::size_t query_block = 32;

// One head's K and V in the order in which they are read.
template <typename Real>
struct HeadData {
  std::vector<Real> keys;    // [tile][D][key_tile], zero beyond Lk
  std::vector<Real> values;  // [Lk][D]
};

struct Head {
  HeadData<double> exact;
  HeadData<float> single;
  std::vector<float> squared_values;  // [Lk][D]
  std::vector<float> key_norms;       // [Lk]
};

// What a row's exponentials are relative to, and their sum.
template <typename Real>
struct RowSum {
  Real largest = -std::numeric_limits<Real>::infinity();
  Real sum = 0;

  Real lse() const { return sum > 0 ? largest + std::log(sum) : largest; }
};

float scale_of(const Instance& instance) {
  const auto found = std::find_if(instance.scalars.begin(), instance.scalars.end(),
                                  [](const Scalar& scalar) { return scalar.name == "scale"; });
  float scale = 0;
  std::memcpy(&scale, found->bytes.data(), sizeof scale);
  return scale;
}

class Oracle {
 public:
  Oracle(const AttentionShape& shape, const Instance& instance)
      : shape_(shape),
        D_(static_cast<std::size_t>(shape.D)),
        Lq_(static_cast<std::size_t>(shape.Lq)),
        Lk_(static_cast<std::size_t>(shape.Lk)),
        tiles_((Lk_ + key_tile - 1) / key_tile),
        scale_(scale_of(instance)),
        query_rows_(query_rows(shape)),
        key_rows_(key_rows(shape)),
        q_(shape, instance, "Q"),
        k_(shape, instance, "K"),
        v_(shape, instance, "V"),
        slopes_(static_cast<std::size_t>(shape.H), 0.0F) {
    if (shape.alibi)
      std::memcpy(slopes_.data(), find_tensor(instance, "alibi_slopes").bytes.data(),
                  slopes_.size() * sizeof(float));
    const std::size_t rows = static_cast<std::size_t>(shape.B * shape.H) * Lq_;
    truth_.exact.resize(rows * D_);
    truth_.trusted.resize(rows * D_);
    truth_.spread.resize(rows * D_);
    truth_.p_variation.resize(rows);
    truth_.lse_exact.resize(rows);
    truth_.lse_trusted.resize(rows);
    truth_.score_size.resize(rows);
  }

  AttentionTruth run() {
    const auto heads = static_cast<std::size_t>(shape_.B * shape_.H);
    for (std::size_t head = 0; head < heads; ++head) {
      if (head % static_cast<std::size_t>(shape_.group()) == 0) load(kv_head_of(shape_, head));
      const std::size_t blocks = (Lq_ + query_block - 1) / query_block;
      std::atomic<std::size_t> next = 0;
      const auto work = [&] {
        for (std::size_t block; (block = next++) < blocks;)
          attend(head, block * query_block, std::min(Lq_, (block + 1) * query_block));
      };
      // Below some 100 microseconds of work a thread costs more than it gives.
      const std::size_t threads =
          Lq_ * Lk_ * D_ < 500'000 ? 1 : std::thread::hardware_concurrency();
      std::vector<std::jthread> others;
      for (std::size_t i = 1; i < std::min(threads, blocks); ++i) others.emplace_back(work);
      work();
    }
    return std::move(truth_);
  }

 private:
  template <typename Real>
  void load(std::size_t kv_head, HeadData<Real>& data) const {
    data.keys.assign(tiles_ * D_ * key_tile, Real{0});
    data.values.resize(Lk_ * D_);
    for (std::size_t key = 0; key < Lk_; ++key) {
      const std::size_t from = key_rows_(kv_head, key) * D_;
      const std::size_t to = (key / key_tile) * D_ * key_tile + key % key_tile;
      const auto k_scale = static_cast<Real>(k_.scale(kv_head, key));
      const auto v_scale = static_cast<Real>(v_.scale(kv_head, key));
      for (std::size_t d = 0; d < D_; ++d) {
        data.keys[to + d * key_tile] = k_scale * static_cast<Real>(k_[from + d]);
        data.values[key * D_ + d] = v_scale * static_cast<Real>(v_[from + d]);
      }
    }
  }

  float norm(const Elements& from, const RowOrder& rows, std::size_t head,
             std::size_t position) const {
    const std::size_t first = rows(head, position) * D_;
    float squares = 0;
    for (std::size_t d = 0; d < D_; ++d) squares += from[first + d] * from[first + d];
    return from.scale(head, position) * std::sqrt(squares);
  }

  void load(std::size_t kv_head) {
    load(kv_head, head_.exact);
    load(kv_head, head_.single);
    head_.squared_values = head_.single.values;
    for (float& value : head_.squared_values) value *= value;
    head_.key_norms.resize(Lk_);
    for (std::size_t key = 0; key < Lk_; ++key)
      head_.key_norms[key] = norm(k_, key_rows_, kv_head, key);
  }

  struct Keys {
    std::size_t first, end;
  };
  Keys visible(std::size_t query) const {
    const KeyRange range = shape_.visible(static_cast<std::int64_t>(query));
    return {static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.end)};
  }

  // As a kernel of the dtype adds, where that is not as float32 does.
  template <typename Real>
  void add(Real* out, std::size_t width, const Real* coefficients, std::size_t count,
           const Real* rows) const {
    if constexpr (std::is_same_v<Real, float>) {
      if (shape_.dtype == DType::e4m3) {
        add_rows_cut_off(out, width, coefficients, count, rows);
        return;
      }
    }
    add_rows(out, width, coefficients, count, rows);
  }

  // How far a key lies from where ALiBi sees the query.
  template <typename Real>
  Real distance(std::size_t query, std::size_t key) const {
    return std::abs(static_cast<Real>(static_cast<std::int64_t>(query + Lk_) -
                                      static_cast<std::int64_t>(Lq_ + key)));
  }

  // Unscaled products of queries [first, last) with every key, [query][tiles * key_tile].
  template <typename Real>
  std::vector<Real> products(const HeadData<Real>& data, std::size_t head, std::size_t first,
                             std::size_t last) const {
    const std::size_t rows = last - first;
    std::vector<Real> queries(rows * D_);
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t from = query_rows_(head, first + row) * D_;
      const auto q_scale = static_cast<Real>(q_.scale(head, first + row));
      for (std::size_t d = 0; d < D_; ++d)
        queries[row * D_ + d] = q_scale * static_cast<Real>(q_[from + d]);
    }
    std::vector<Real> result(rows * tiles_ * key_tile, Real{0});
    for (std::size_t tile = 0; tile < tiles_; ++tile) {
      for (std::size_t row = 0; row < rows; ++row) {
        const Keys keys = visible(first + row);
        if (tile * key_tile >= keys.end || (tile + 1) * key_tile <= keys.first) continue;
        add(&result[(row * tiles_ + tile) * key_tile], key_tile, &queries[row * D_], D_,
            &data.keys[tile * D_ * key_tile]);
      }
    }
    return result;
  }

  // The scores that softmax sees, from a row's products.
  template <typename Real>
  void finish_scores(Real* row, std::size_t head, std::size_t query) const {
    const Keys keys = visible(query);
    const auto cap = static_cast<Real>(shape_.softcap);
    const auto slope = static_cast<Real>(slopes_[head % slopes_.size()]);
    const Real scale = scale_;
    for (std::size_t key = keys.first; key < keys.end; ++key) {
      row[key] *= scale;
      if (cap > 0) row[key] = cap * std::tanh(row[key] / cap);
      if (shape_.alibi) row[key] -= slope * distance<Real>(query, key);
    }
  }

  // Turns a row's scores into exp(s - largest).
  template <typename Real>
  RowSum<Real> exponentials(Real* row, std::size_t query) const {
    const Keys keys = visible(query);
    RowSum<Real> result;
    if (keys.first == keys.end) return result;
    result.largest = *std::max_element(row + keys.first, row + keys.end);
    for (std::size_t key = keys.first; key < keys.end; ++key) {
      row[key] = std::exp(row[key] - result.largest);
      result.sum += row[key];
    }
    return result;
  }

  float score_size(std::size_t head, std::size_t query) const {
    const Keys keys = visible(query);
    if (keys.first == keys.end) return 0;
    const float product =
        scale_ * norm(q_, query_rows_, head, query) *
        *std::max_element(head_.key_norms.begin() + static_cast<std::ptrdiff_t>(keys.first),
                          head_.key_norms.begin() + static_cast<std::ptrdiff_t>(keys.end));
    const float bias =
        slopes_[head % slopes_.size()] *
        std::max(distance<float>(query, keys.first), distance<float>(query, keys.end - 1));
    return product + bias + static_cast<float>(shape_.softcap);
  }

  static float variation(const double* p, const Keys& keys, double sum) {
    const auto count = static_cast<double>(keys.end - keys.first);
    const double mean = sum / count;
    double squares = 0;
    for (std::size_t key = keys.first; key < keys.end; ++key)
      squares += (p[key] - mean) * (p[key] - mean);
    return static_cast<float>(std::sqrt(squares / count) / mean);
  }

  // Sums of `weights` times `rows` for queries [first, last), [query][D], by a function like
  // add_rows.
  template <typename Real, typename Add>
  std::vector<Real> weigh(const std::vector<Real>& weights, const std::vector<Real>& rows,
                          std::size_t first, std::size_t last, const Add& add) const {
    std::vector<Real> result((last - first) * D_, Real{0});
    for (std::size_t tile = 0; tile < tiles_; ++tile) {
      for (std::size_t query = first; query < last; ++query) {
        const Keys keys = visible(query);
        const std::size_t start = std::max(tile * key_tile, keys.first);
        const std::size_t end = std::min((tile + 1) * key_tile, keys.end);
        if (start >= end) continue;
        add(&result[(query - first) * D_], D_,
            &weights[(query - first) * tiles_ * key_tile + start], end - start, &rows[start * D_]);
      }
    }
    return result;
  }

  static float rounded_output(DType type, float value) {
    return type == DType::bf16 ? round_to_bf16(value) : round_to_f16(value);
  }

  void attend(std::size_t head, std::size_t first, std::size_t last) {
    const std::size_t stride = tiles_ * key_tile;
    std::vector<double> p = products(head_.exact, head, first, last);
    std::vector<float> p_single = products(head_.single, head, first, last);
    std::vector<double> sum(last - first);
    std::vector<float> sum_single(last - first);
    for (std::size_t row = 0; row < last - first; ++row) {
      finish_scores(&p[row * stride], head, first + row);
      finish_scores(&p_single[row * stride], head, first + row);
      const RowSum<double> exact = exponentials(&p[row * stride], first + row);
      const RowSum<float> single = exponentials(&p_single[row * stride], first + row);
      sum[row] = exact.sum;
      sum_single[row] = single.sum;
      const std::size_t to = head * Lq_ + first + row;
      truth_.lse_exact[to] = exact.lse();
      truth_.lse_trusted[to] = single.lse();
      truth_.score_size[to] = score_size(head, first + row);
    }
    std::vector<float> rounded(p_single.size()), squared(p_single.size());
    std::ranges::transform(p_single, rounded.begin(), [dtype = shape_.dtype](float value) {
      return rounded_probability(dtype, value);
    });
    std::ranges::transform(p_single, squared.begin(), [dtype = shape_.dtype](float value) {
      const float weight = error_weight(dtype, value);
      return weight * weight;
    });

    const auto as_kernel = [this](auto... all) { add(all...); };
    const auto exact = weigh(p, head_.exact.values, first, last, add_rows<double>);
    const auto trusted = weigh(rounded, head_.single.values, first, last, as_kernel);
    const auto variance = weigh(squared, head_.squared_values, first, last, add_rows<float>);
    for (std::size_t row = 0; row < last - first; ++row) {
      const Keys keys = visible(first + row);
      if (keys.first == keys.end) continue;  // what is masked as a whole is 0, as it stands
      truth_.p_variation[head * Lq_ + first + row] = variation(&p[row * stride], keys, sum[row]);
      for (std::size_t d = 0; d < D_; ++d) {
        const std::size_t to = (head * Lq_ + first + row) * D_ + d;
        truth_.exact[to] = exact[row * D_ + d] / sum[row];
        truth_.trusted[to] = static_cast<double>(
            rounded_output(shape_.output_type(), trusted[row * D_ + d] / sum_single[row]));
        truth_.spread[to] = std::sqrt(variance[row * D_ + d]) / sum_single[row];
      }
    }
  }

  AttentionShape shape_;
  std::size_t D_, Lq_, Lk_, tiles_;
  float scale_;
  RowOrder query_rows_, key_rows_;
  Elements q_, k_, v_;
  std::vector<float> slopes_;  // [H], 0 without ALiBi
  Head head_;
  AttentionTruth truth_;
};

}  // namespace

AttentionTruth attention_oracle(const AttentionShape& shape, const Instance& instance) {
  return Oracle(shape, instance).run();
}

}  // namespace fa_tune
