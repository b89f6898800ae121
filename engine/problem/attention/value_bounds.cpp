#include "engine/problem/attention/value_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "engine/problem/attention/elements.hpp"
#include "engine/problem/attention/shape.hpp"
#include "engine/problem/attention/tolerance.hpp"
#include "engine/util/parallel.hpp"

namespace fa_tune::problem {
namespace {

constexpr std::size_t kBlockRows = 64;  // of queries, and of keys

std::size_t blocks_of(std::size_t rows) { return (rows + kBlockRows - 1) / kBlockRows; }

// The least and the largest of some rows, column by column.
struct Range {
  std::vector<float> least, most;

  explicit Range(std::size_t columns)
      : least(columns, std::numeric_limits<float>::infinity()),
        most(columns, -std::numeric_limits<float>::infinity()) {}

  void add(std::span<const float> low, std::span<const float> high) {
    for (std::size_t d = 0; d < least.size(); ++d) {
      least[d] = std::min(least[d], low[d]);
      most[d] = std::max(most[d], high[d]);
    }
  }
};

// Of each block of keys of one head of V.
std::vector<Range> ranges_of_keys(const AttentionShape& shape, const Elements& v,
                                  std::size_t kv_head) {
  const auto D = static_cast<std::size_t>(shape.D), Lk = static_cast<std::size_t>(shape.Lk);
  const RowOrder rows = key_rows(shape);
  std::vector<Range> ranges(blocks_of(Lk), Range(D));
  std::vector<float> row(D);
  for (std::size_t key = 0; key < Lk; ++key) {
    v.read(rows(kv_head, key) * D, row);
    const float scale = v.scale(kv_head, key);
    for (float& value : row) value *= scale;
    ranges[key / kBlockRows].add(row, row);
  }
  return ranges;
}

// Of each block of queries, from those of the blocks of keys that it sees. Where queries see more
// and more of the same keys, the range before goes on.
void ranges_of_queries(const AttentionShape& shape, const std::vector<Range>& of_keys,
                       const std::function<void(std::size_t, const Range&)>& take) {
  const auto D = static_cast<std::size_t>(shape.D), Lq = static_cast<std::size_t>(shape.Lq);
  Range range(D);
  std::size_t first = 0, end = 0;  // blocks of keys in it
  for (std::size_t block = 0; block < blocks_of(Lq); ++block) {
    const std::size_t last = std::min(Lq, (block + 1) * kBlockRows) - 1;
    // Rows see more the later they are, or what lies later.
    const auto from = static_cast<std::size_t>(
        shape.visible(static_cast<std::int64_t>(block * kBlockRows)).first);
    const std::size_t to =
        blocks_of(static_cast<std::size_t>(shape.visible(static_cast<std::int64_t>(last)).end));
    if (from / kBlockRows != first || to < end) {
      range = Range(D);
      end = first = from / kBlockRows;
    }
    for (; end < to; ++end) range.add(of_keys[end].least, of_keys[end].most);
    take(block, range);
  }
}

void widen(const AttentionShape& shape, double growth, const Range& range, float* least,
           float* most) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (std::size_t d = 0; d < range.least.size(); ++d) {
    if (range.least[d] > range.most[d]) continue;  // no row of it sees anything
    const auto low = static_cast<double>(range.least[d]);
    const auto high = static_cast<double>(range.most[d]);
    const double room = growth * largest_bound(shape, std::max(std::abs(low), std::abs(high)));
    least[d] = std::nextafter(static_cast<float>(low - room), -infinity);
    most[d] = std::nextafter(static_cast<float>(high + room), infinity);
  }
}

bool sees_nothing(const AttentionShape& shape, std::size_t position) {
  return shape.visible(static_cast<std::int64_t>(position)).count() == 0;
}

// Of one head of Q, K: the longest row, as it is multiplied.
float longest_row(const AttentionShape& shape, const Elements& from, const RowOrder& rows,
                  std::size_t head, std::int64_t length) {
  const auto D = static_cast<std::size_t>(shape.D);
  std::vector<float> row(D);
  float longest = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i) {
    from.read(rows(head, i) * D, row);
    float squares = 0;
    for (const float value : row) squares += value * value;
    longest = std::max(longest, from.scale(head, i) * std::sqrt(squares));
  }
  return longest;
}

}  // namespace

ValueBounds output_limits(const AttentionShape& shape, const Instance& instance, double growth) {
  const auto D = static_cast<std::size_t>(shape.D), Lq = static_cast<std::size_t>(shape.Lq);
  const auto kv_heads = static_cast<std::size_t>(shape.B * shape.kv_heads());
  const auto heads = static_cast<std::size_t>(shape.B * shape.H);
  const std::size_t blocks = blocks_of(Lq);
  const Elements v(shape, instance, "V");
  // The last range is that of rows that see nothing.
  const std::size_t ranges = kv_heads * blocks + 1;
  ValueBounds limits{.row_elements = D,
                     .range_of_row = std::vector<std::uint32_t>(heads * Lq),
                     .least = std::vector<float>(ranges * D),
                     .most = std::vector<float>(ranges * D)};
  in_parallel(kv_heads, [&](std::size_t kv_head) {
    const std::vector<Range> of_keys = ranges_of_keys(shape, v, kv_head);
    ranges_of_queries(shape, of_keys, [&](std::size_t block, const Range& range) {
      const std::size_t to = (kv_head * blocks + block) * D;
      widen(shape, growth, range, &limits.least[to], &limits.most[to]);
    });
  });
  const RowOrder place = query_rows(shape);
  for (std::size_t position = 0; position < Lq; ++position) {
    const bool nothing = sees_nothing(shape, position);
    for (std::size_t head = 0; head < heads; ++head)
      limits.range_of_row[place(head, position)] = static_cast<std::uint32_t>(
          nothing ? ranges - 1 : kv_head_of(shape, head) * blocks + position / kBlockRows);
  }
  return limits;
}

ValueBounds lse_limits(const AttentionShape& shape, const Instance& instance) {
  const auto Lq = static_cast<std::size_t>(shape.Lq);
  const auto heads = static_cast<std::size_t>(shape.B * shape.H);
  const Elements q(shape, instance, "Q"), k(shape, instance, "K");
  std::vector<float> slopes(static_cast<std::size_t>(shape.H), 0.0F);
  if (shape.alibi)
    std::memcpy(slopes.data(), find_tensor(instance, "alibi_slopes").bytes.data(),
                slopes.size() * sizeof(float));
  ValueBounds limits{
      .row_elements = 1,
      .range_of_row = std::vector<std::uint32_t>(heads * Lq),
      .least = std::vector<float>(heads + 1, -std::numeric_limits<float>::infinity()),
      .most = std::vector<float>(heads + 1, -std::numeric_limits<float>::infinity())};
  in_parallel(heads, [&](std::size_t head) {
    const float product = longest_row(shape, q, query_rows(shape), head, shape.Lq) *
                          longest_row(shape, k, key_rows(shape), kv_head_of(shape, head), shape.Lk);
    const double score =
        shape.softcap > 0 ? shape.softcap
                          : static_cast<double>(product) / std::sqrt(static_cast<double>(shape.D));
    const double bias = static_cast<double>(slopes[head % slopes.size()]) *
                        static_cast<double>(std::max(shape.Lq, shape.Lk));
    const auto farthest = static_cast<float>(
        1.001 * (score + bias + std::log(static_cast<double>(shape.Lk))) + 0x1p-10);
    limits.least[head] = -farthest;
    limits.most[head] = farthest;
  });
  for (std::size_t position = 0; position < Lq; ++position) {
    const bool nothing = sees_nothing(shape, position);
    for (std::size_t head = 0; head < heads; ++head)
      limits.range_of_row[head * Lq + position] =
          static_cast<std::uint32_t>(nothing ? heads : head);
  }
  return limits;
}

}  // namespace fa_tune::problem
