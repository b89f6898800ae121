#include "engine/problem/attention_oracle.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "engine/base/half.hpp"

// How it is made fast: everything is a sum of rows with coefficients, out[j] += c[i] * row[i][j],
// for the scores as for the output, with j innermost and independent, so that plain vector code
// does it. Keys go in tiles that stay in the first cache while a block of queries passes over them.

namespace fa_tune {
namespace {

constexpr std::size_t key_tile = 32;
constexpr std::size_t query_block = 32;

// out[j] += sum over i of coefficients[i] * rows[i * width + j]
template <typename Real>
void add_rows(Real* __restrict out, std::size_t width, const Real* __restrict coefficients,
              std::size_t count, const Real* __restrict rows) {
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const Real a = coefficients[i], b = coefficients[i + 1];
    const Real c = coefficients[i + 2], d = coefficients[i + 3];
    const Real* __restrict row = rows + i * width;
    for (std::size_t j = 0; j < width; ++j)
      out[j] +=
          (a * row[j] + b * row[width + j]) + (c * row[2 * width + j] + d * row[3 * width + j]);
  }
  for (; i < count; ++i)
    for (std::size_t j = 0; j < width; ++j) out[j] += coefficients[i] * rows[i * width + j];
}

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
};

class Inputs16 {
 public:
  explicit Inputs16(const Tensor& tensor) : tensor_(tensor) {}
  float operator[](std::size_t i) const {
    std::uint16_t bits = 0;
    std::memcpy(&bits, tensor_.bytes.data() + 2 * i, 2);
    return tensor_.type == DType::bf16 ? from_bf16(bits) : from_f16(bits);
  }

 private:
  const Tensor& tensor_;
};

const Tensor& find(const Instance& instance, const std::string& name) {
  return *std::find_if(instance.tensors.begin(), instance.tensors.end(),
                       [&](const Tensor& tensor) { return tensor.name == name; });
}

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
        q_(find(instance, "Q")),
        k_(find(instance, "K")),
        v_(find(instance, "V")) {
    const std::size_t elements = static_cast<std::size_t>(shape.B * shape.H) * Lq_ * D_;
    truth_.exact.resize(elements);
    truth_.trusted.resize(elements);
    truth_.spread.resize(elements);
    truth_.p_variation.resize(elements / D_);
  }

  AttentionTruth run() {
    const auto heads = static_cast<std::size_t>(shape_.B * shape_.H);
    for (std::size_t head = 0; head < heads; ++head) {
      load(head);
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
  void load(std::size_t head, HeadData<Real>& data) const {
    data.keys.assign(tiles_ * D_ * key_tile, Real{0});
    data.values.resize(Lk_ * D_);
    for (std::size_t key = 0; key < Lk_; ++key) {
      const std::size_t from = (head * Lk_ + key) * D_;
      const std::size_t to = (key / key_tile) * D_ * key_tile + key % key_tile;
      for (std::size_t d = 0; d < D_; ++d) {
        data.keys[to + d * key_tile] = static_cast<Real>(k_[from + d]);
        data.values[key * D_ + d] = static_cast<Real>(v_[from + d]);
      }
    }
  }

  void load(std::size_t head) {
    load(head, head_.exact);
    load(head, head_.single);
    head_.squared_values = head_.single.values;
    for (float& value : head_.squared_values) value *= value;
  }

  std::size_t visible(std::size_t query) const {
    return static_cast<std::size_t>(shape_.visible_keys(static_cast<std::int64_t>(query)));
  }

  // Unscaled scores of queries [first, last) with every key, [query][tiles * key_tile].
  template <typename Real>
  std::vector<Real> scores(const HeadData<Real>& data, std::size_t head, std::size_t first,
                           std::size_t last) const {
    const std::size_t rows = last - first;
    std::vector<Real> queries(rows * D_);
    for (std::size_t i = 0; i < queries.size(); ++i)
      queries[i] = static_cast<Real>(q_[(head * Lq_ + first) * D_ + i]);
    std::vector<Real> result(rows * tiles_ * key_tile, Real{0});
    for (std::size_t tile = 0; tile < tiles_; ++tile) {
      for (std::size_t row = 0; row < rows; ++row) {
        if (tile * key_tile >= visible(first + row)) continue;
        add_rows(&result[(row * tiles_ + tile) * key_tile], key_tile, &queries[row * D_], D_,
                 &data.keys[tile * D_ * key_tile]);
      }
    }
    return result;
  }

  // Turns a row's scores into exp(scale * (s - largest)) and returns their sum.
  template <typename Real>
  Real exponentials(Real* row, std::size_t keys) const {
    const Real scale = scale_;
    const Real largest = keys == 0 ? Real{0} : *std::max_element(row, row + keys);
    Real sum = 0;
    for (std::size_t key = 0; key < keys; ++key) {
      row[key] = std::exp(scale * row[key] - scale * largest);
      sum += row[key];
    }
    return sum;
  }

  static float variation(const double* p, std::size_t keys, double sum) {
    const double mean = sum / static_cast<double>(keys);
    double squares = 0;
    for (std::size_t key = 0; key < keys; ++key) squares += (p[key] - mean) * (p[key] - mean);
    return static_cast<float>(std::sqrt(squares / static_cast<double>(keys)) / mean);
  }

  // Sums of `weights` times `rows` for queries [first, last), [query][D].
  template <typename Real>
  std::vector<Real> weigh(const std::vector<Real>& weights, const std::vector<Real>& rows,
                          std::size_t first, std::size_t last) const {
    std::vector<Real> result((last - first) * D_, Real{0});
    for (std::size_t tile = 0; tile < tiles_; ++tile) {
      const std::size_t start = tile * key_tile;
      for (std::size_t query = first; query < last; ++query) {
        if (start >= visible(query)) continue;
        add_rows(&result[(query - first) * D_], D_,
                 &weights[((query - first) * tiles_ + tile) * key_tile],
                 std::min(key_tile, visible(query) - start), &rows[start * D_]);
      }
    }
    return result;
  }

  float round(float value) const {
    return shape_.dtype == DType::bf16 ? round_to_bf16(value) : round_to_f16(value);
  }

  // Below its smallest normal number f16 rounds by an absolute step of 2^-24 and at last to zero.
  // The value whose relative rounding error (0.425 * 2^-11, see attention_tolerance.hpp) is as
  // large as that absolute one stands in for such a p.
  static float f16_error_weight(float p) {
    constexpr float kSmallestNormal = 0x1p-14F;
    constexpr float kRelative = 0.425F * 0x1p-11F;
    constexpr float kAbsolute = 0x1p-25F / 1.7320508F;
    return p < kSmallestNormal ? std::min(kAbsolute, p) / kRelative : p;
  }

  void attend(std::size_t head, std::size_t first, std::size_t last) {
    const std::size_t stride = tiles_ * key_tile;
    std::vector<double> p = scores(head_.exact, head, first, last);
    std::vector<float> p_single = scores(head_.single, head, first, last);
    std::vector<double> sum(last - first);
    std::vector<float> sum_single(last - first);
    for (std::size_t row = 0; row < last - first; ++row) {
      sum[row] = exponentials(&p[row * stride], visible(first + row));
      sum_single[row] = exponentials(&p_single[row * stride], visible(first + row));
    }
    std::vector<float> rounded(p_single.size()), squared(p_single.size());
    if (shape_.dtype == DType::bf16)
      std::transform(p_single.begin(), p_single.end(), rounded.begin(), round_to_bf16);
    else
      std::transform(p_single.begin(), p_single.end(), rounded.begin(), round_to_f16);
    std::transform(p_single.begin(), p_single.end(), squared.begin(), [this](float value) {
      const float weight = shape_.dtype == DType::bf16 ? value : f16_error_weight(value);
      return weight * weight;
    });

    const auto exact = weigh(p, head_.exact.values, first, last);
    const auto trusted = weigh(rounded, head_.single.values, first, last);
    const auto variance = weigh(squared, head_.squared_values, first, last);
    for (std::size_t row = 0; row < last - first; ++row) {
      const std::size_t keys = visible(first + row);
      if (keys == 0) continue;  // what is masked as a whole is 0, as it stands
      truth_.p_variation[head * Lq_ + first + row] = variation(&p[row * stride], keys, sum[row]);
      for (std::size_t d = 0; d < D_; ++d) {
        const std::size_t to = (head * Lq_ + first + row) * D_ + d;
        truth_.exact[to] = exact[row * D_ + d] / sum[row];
        truth_.trusted[to] = static_cast<double>(round(trusted[row * D_ + d] / sum_single[row]));
        truth_.spread[to] = std::sqrt(variance[row * D_ + d]) / sum_single[row];
      }
    }
  }

  AttentionShape shape_;
  std::size_t D_, Lq_, Lk_, tiles_;
  float scale_;
  Inputs16 q_, k_, v_;
  Head head_;
  AttentionTruth truth_;
};

}  // namespace

AttentionTruth attention_oracle(const AttentionShape& shape, const Instance& instance) {
  return Oracle(shape, instance).run();
}

}  // namespace fa_tune
