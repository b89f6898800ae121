#include "engine/problem/attention/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "engine/problem/attention/block.hpp"
#include "engine/problem/attention/elements.hpp"
#include "engine/problem/attention/precision.hpp"
#include "engine/problem/attention/products.hpp"
#include "engine/problem/attention/shape.hpp"
#include "engine/util/half.hpp"
#include "engine/util/parallel.hpp"

// How it is made fast: a block of rows of one head passes over K and then over V, tile after tile.
// A tile is made from the tensor's bits each time, for a tenth of what the block then does with
// it; so nothing is shared between blocks, and threads take them as they come.

namespace fa_tune::problem {
namespace {

using namespace oracle;

float scale_of(const Instance& instance) {
  const auto found = std::find_if(instance.scalars.begin(), instance.scalars.end(),
                                  [](const Scalar& scalar) { return scalar.name == "scale"; });
  float scale = 0;
  std::memcpy(&scale, found->bytes.data(), sizeof scale);
  return scale;
}

const Products& fastest_products() {
#ifdef FA_TUNE_AVX2
  if (__builtin_cpu_supports("avx2")) return avx2::kProducts;
#endif
  return plain::kProducts;
}

template <typename Real>
Product<Real> product() {
  static const Products& products = fastest_products();
  if constexpr (std::is_same_v<Real, double>)
    return products.in_double;
  else
    return products.in_single;
}

class Oracle {
 public:
  Oracle(const AttentionShape& shape, const Instance& instance, const RowSample& sample)
      : shape_(shape),
        sample_(sample),
        D_(static_cast<std::size_t>(shape.D)),
        width_(round_up(D_, kProductWidth)),
        Lq_(static_cast<std::size_t>(shape.Lq)),
        Lk_(static_cast<std::size_t>(shape.Lk)),
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
    const std::size_t rows = sample.size();
    truth_.exact.resize(rows * D_);
    truth_.trusted.resize(rows * D_);
    truth_.spread.resize(rows * D_);
    truth_.p_variation.resize(rows);
    truth_.lse_exact.resize(rows);
    truth_.lse_trusted.resize(rows);
    truth_.score_size.resize(rows);
  }

  AttentionTruth run() {
    std::vector<Block> blocks;
    std::size_t work = 0;
    for (std::size_t head = 0; head < sample_.heads(); ++head) {
      const auto all = sample_.of_head(head);
      for (std::size_t first = 0; first < all.size(); first += kQueryBlock) {
        blocks.push_back(block_of(head, all, first));
        work += blocks.back().stride() * blocks.back().positions.size() * D_;
      }
    }
    const auto attend_to = [&](std::size_t i) { attend(blocks[i]); };
    // Below some 100 microseconds of work a thread costs more than it gives.
    if (work < 500'000)
      in_parallel(blocks.size(), 1, attend_to);
    else
      in_parallel(blocks.size(), attend_to);
    return std::move(truth_);
  }

 private:
  Keys visible(std::size_t position) const {
    const KeyRange range = shape_.visible(static_cast<std::int64_t>(position));
    return {static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.end)};
  }

  Block block_of(std::size_t head, std::span<const std::uint32_t> all, std::size_t first) const {
    Block block{.head = head,
                .positions = all.subspan(first, std::min(kQueryBlock, all.size() - first)),
                .to = sample_.begin(head) + first};
    const std::size_t begin = visible(block.positions.front()).first / kKeyTile;
    const std::size_t end = round_up(visible(block.positions.back()).end, kKeyTile) / kKeyTile;
    block.origin = begin * kKeyTile;
    block.tiles = end > begin ? end - begin : 0;
    return block;
  }

  void load(const Elements& from, std::size_t kv_head, std::size_t first, RawTile& raw) const {
    raw.rows.assign(kKeyTile * D_, 0.0F);
    for (std::size_t i = 0; i < std::min(kKeyTile, Lk_ - first); ++i) {
      from.read(key_rows_(kv_head, first + i) * D_, std::span(raw.rows).subspan(i * D_, D_));
      raw.scales[i] = from.scale(kv_head, first + i);
    }
  }

  float norm(std::span<const float> row, float scale) const {
    float squares = 0;
    for (const float value : row) squares += value * value;
    return scale * std::sqrt(squares);
  }

  // Its rows of Q, and what is said of each by its norm.
  std::vector<float> load_queries(const Block& block, Pass<double>& exact,
                                  Pass<float>& single) const {
    exact.queries.assign(block.padded() * D_, 0.0);
    single.queries.assign(block.padded() * D_, 0.0F);
    std::vector<float> row(D_), norms;
    for (std::size_t r = 0; r < block.positions.size(); ++r) {
      q_.read(query_rows_(block.head, block.positions[r]) * D_, row);
      const float scale = q_.scale(block.head, block.positions[r]);
      for (std::size_t d = 0; d < D_; ++d) {
        exact.queries[r * D_ + d] = static_cast<double>(scale) * static_cast<double>(row[d]);
        single.queries[r * D_ + d] = scale * row[d];
      }
      norms.push_back(norm(row, scale));
    }
    return norms;
  }

  // Does one of the product_rows rows from `row` on see a key of the tile?
  bool seen(const Block& block, std::size_t row, std::size_t tile_first) const {
    const std::size_t last = std::min(row + kProductRows, block.positions.size()) - 1;
    return visible(block.positions[row]).first < tile_first + kKeyTile &&
           visible(block.positions[last]).end > tile_first;
  }

  // Unscaled products of the block's queries with one tile of keys.
  template <typename Real>
  void multiply(const Block& block, std::size_t tile, const RawTile& raw, Pass<Real>& pass) const {
    pass.tile.resize(D_ * kKeyTile);
    for (std::size_t key = 0; key < kKeyTile; ++key)
      for (std::size_t d = 0; d < D_; ++d)
        pass.tile[d * kKeyTile + key] =
            static_cast<Real>(raw.scales[key]) * static_cast<Real>(raw.rows[key * D_ + d]);
    for (std::size_t row = 0; row < block.positions.size(); row += kProductRows) {
      if (!seen(block, row, block.origin + tile * kKeyTile)) continue;
      Real* out = &pass.p[row * block.stride() + tile * kKeyTile];
      const Real* queries = &pass.queries[row * D_];
      if constexpr (std::is_same_v<Real, float>) {
        if (shape_.dtype == DType::e4m3) {
          for (std::size_t r = 0; r < kProductRows; ++r)
            add_rows_cut_off(out + r * block.stride(), kKeyTile, queries + r * D_, D_,
                             pass.tile.data());
          continue;
        }
      }
      product<Real>()(out, block.stride(), queries, D_, pass.tile.data(), D_, kKeyTile);
    }
  }

  // How far a key lies from where ALiBi sees the query.
  template <typename Real>
  Real distance(std::size_t query, std::size_t key) const {
    return std::abs(static_cast<Real>(static_cast<std::int64_t>(query + Lk_) -
                                      static_cast<std::int64_t>(Lq_ + key)));
  }

  // The scores that softmax sees, from a row's products; row[0] is that of key `origin`.
  template <typename Real>
  void finish_scores(Real* row, const Keys& keys, std::size_t origin, std::size_t head,
                     std::size_t query) const {
    const auto cap = static_cast<Real>(shape_.softcap);
    const auto slope = static_cast<Real>(slopes_[head % slopes_.size()]);
    const Real scale = scale_;
    for (std::size_t key = keys.first; key < keys.end; ++key) {
      Real& score = row[key - origin];
      score *= scale;
      if (cap > 0) score = cap * std::tanh(score / cap);
      if (shape_.alibi) score -= slope * distance<Real>(query, key);
    }
  }

  // Turns a row's scores into exp(s - largest), and what lies beside them into 0.
  template <typename Real>
  RowSum<Real> exponentials(std::span<Real> row, const Keys& keys, std::size_t origin) const {
    RowSum<Real> result;
    if (keys.first == keys.end) {
      std::ranges::fill(row, Real{0});
      return result;
    }
    const auto seen = row.subspan(keys.first - origin, keys.end - keys.first);
    std::fill(row.begin(), row.begin() + (seen.data() - row.data()), Real{0});
    std::fill(row.begin() + (seen.data() - row.data()) + static_cast<std::ptrdiff_t>(seen.size()),
              row.end(), Real{0});
    result.largest = *std::ranges::max_element(seen);
    for (Real& score : seen) {
      score = std::exp(score - result.largest);
      result.sum += score;
    }
    return result;
  }

  float score_size(const Keys& keys, std::size_t head, std::size_t query, float query_norm,
                   std::span<const float> key_norms) const {
    if (key_norms.empty()) return 0;
    const float product = scale_ * query_norm * *std::ranges::max_element(key_norms);
    const float bias =
        slopes_[head % slopes_.size()] *
        std::max(distance<float>(query, keys.first), distance<float>(query, keys.end - 1));
    return product + bias + static_cast<float>(shape_.softcap);
  }

  static float variation(std::span<const double> p, double sum) {
    const auto count = static_cast<double>(p.size());
    const double mean = sum / count;
    double squares = 0;
    for (const double each : p) squares += (each - mean) * (each - mean);
    return static_cast<float>(std::sqrt(squares / count) / mean);
  }

  // Adds to the block's outputs what the weights in p, one tile of them with the rows
  // `weight_stride` apart, take of that tile of V.
  template <typename Real>
  void weigh(const Block& block, std::size_t tile_first, const Real* weights,
             std::size_t weight_stride, Pass<Real>& pass) const {
    for (std::size_t row = 0; row < block.positions.size(); row += kProductRows)
      if (seen(block, row, tile_first))
        product<Real>()(&pass.output[row * width_], width_, weights + row * weight_stride,
                        weight_stride, pass.tile.data(), kKeyTile, width_);
  }

  // The same as tensor cores add products of e4m3.
  void weigh_cut_off(const Block& block, std::size_t tile_first, const float* weights,
                     Pass<float>& pass) const {
    for (std::size_t row = 0; row < block.positions.size(); ++row) {
      const Keys keys = visible(block.positions[row]);
      const std::size_t start = std::max(tile_first, keys.first);
      const std::size_t end = std::min(tile_first + kKeyTile, keys.end);
      if (start < end)
        add_rows_cut_off(&pass.output[row * width_], width_,
                         weights + row * kKeyTile + (start - tile_first), end - start,
                         &pass.tile[(start - tile_first) * width_]);
    }
  }

  template <typename Real>
  void spread_values(const RawTile& raw, std::vector<Real>& tile) const {
    for (std::size_t key = 0; key < kKeyTile; ++key)
      for (std::size_t d = 0; d < D_; ++d)
        tile[key * width_ + d] =
            static_cast<Real>(raw.scales[key]) * static_cast<Real>(raw.rows[key * D_ + d]);
  }

  static float rounded_output(DType type, float value) {
    return type == DType::bf16 ? round_to_bf16(value) : round_to_f16(value);
  }

  void attend(const Block& block) {
    const std::size_t kv_head = kv_head_of(shape_, block.head);
    const std::size_t rows = block.positions.size(), stride = block.stride();
    Pass<double> exact;
    Pass<float> single;
    RawTile raw;
    const std::vector<float> query_norms = load_queries(block, exact, single);
    exact.p.resize(block.padded() * stride);
    single.p.resize(block.padded() * stride);
    std::vector<float> key_norms(stride);
    for (std::size_t tile = 0; tile < block.tiles; ++tile) {
      load(k_, kv_head, block.origin + tile * kKeyTile, raw);
      multiply(block, tile, raw, exact);
      multiply(block, tile, raw, single);
      if (!shape_.lse) continue;
      for (std::size_t key = 0; key < kKeyTile; ++key)
        key_norms[tile * kKeyTile + key] =
            norm(std::span(raw.rows).subspan(key * D_, D_), raw.scales[key]);
    }

    std::vector<double> sums(rows);
    std::vector<float> single_sums(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t query = block.positions[row], to = block.to + row;
      const Keys keys = visible(query);
      const std::size_t first = keys.first - std::min(keys.first, block.origin);
      const std::size_t count = keys.end - keys.first;
      finish_scores(exact.p.data() + row * stride, keys, block.origin, block.head, query);
      finish_scores(single.p.data() + row * stride, keys, block.origin, block.head, query);
      const std::span exact_row = std::span(exact.p).subspan(row * stride, stride);
      const auto of_exact = exponentials(exact_row, keys, block.origin);
      const auto of_single =
          exponentials(std::span(single.p).subspan(row * stride, stride), keys, block.origin);
      sums[row] = of_exact.sum;
      single_sums[row] = of_single.sum;
      truth_.lse_exact[to] = of_exact.lse();
      truth_.lse_trusted[to] = of_single.lse();
      if (count == 0) continue;
      truth_.p_variation[to] = variation(exact_row.subspan(first, count), of_exact.sum);
      if (shape_.lse)
        truth_.score_size[to] = score_size(keys, block.head, query, query_norms[row],
                                           std::span(key_norms).subspan(first, count));
    }
    add_values(block, kv_head, exact, single, sums, single_sums);
  }

  void add_values(const Block& block, std::size_t kv_head, Pass<double>& exact, Pass<float>& single,
                  const std::vector<double>& sums, const std::vector<float>& single_sums) {
    const std::size_t stride = block.stride();
    Pass<float> variance;
    RawTile raw;
    exact.tile.assign(kKeyTile * width_, 0.0);
    single.tile.assign(kKeyTile * width_, 0.0F);
    exact.output.assign(block.padded() * width_, 0.0);
    single.output.assign(block.padded() * width_, 0.0F);
    variance.output = single.output;
    std::vector<float> rounded(block.padded() * kKeyTile), squared(rounded.size());
    for (std::size_t tile = 0; tile < block.tiles; ++tile) {
      const std::size_t first = block.origin + tile * kKeyTile;
      load(v_, kv_head, first, raw);
      spread_values(raw, exact.tile);
      spread_values(raw, single.tile);
      variance.tile = single.tile;
      for (float& value : variance.tile) value *= value;
      for (std::size_t row = 0; row < block.positions.size(); ++row)
        for (std::size_t key = 0; key < kKeyTile; ++key) {
          const float p = single.p[row * stride + tile * kKeyTile + key];
          const float weight = error_weight(shape_.dtype, p);
          rounded[row * kKeyTile + key] = rounded_probability(shape_.dtype, p);
          squared[row * kKeyTile + key] = weight * weight;
        }
      weigh(block, first, &exact.p[tile * kKeyTile], stride, exact);
      weigh(block, first, squared.data(), kKeyTile, variance);
      if (shape_.dtype == DType::e4m3)
        weigh_cut_off(block, first, rounded.data(), single);
      else
        weigh(block, first, rounded.data(), kKeyTile, single);
    }
    for (std::size_t row = 0; row < block.positions.size(); ++row) {
      if (!(sums[row] > 0)) continue;  // what is masked as a whole is 0, as it stands
      for (std::size_t d = 0; d < D_; ++d) {
        const std::size_t from = row * width_ + d, to = (block.to + row) * D_ + d;
        truth_.exact[to] = exact.output[from] / sums[row];
        truth_.trusted[to] = static_cast<double>(
            rounded_output(shape_.output_type(), single.output[from] / single_sums[row]));
        truth_.spread[to] = std::sqrt(variance.output[from]) / single_sums[row];
      }
    }
  }

  AttentionShape shape_;
  const RowSample& sample_;
  std::size_t D_, width_, Lq_, Lk_;
  float scale_;
  RowOrder query_rows_, key_rows_;
  Elements q_, k_, v_;
  std::vector<float> slopes_;  // [H], 0 without ALiBi
  AttentionTruth truth_;
};

}  // namespace

AttentionTruth attention_oracle(const AttentionShape& shape, const Instance& instance,
                                const RowSample& rows) {
  return Oracle(shape, instance, rows).run();
}

}  // namespace fa_tune::problem
