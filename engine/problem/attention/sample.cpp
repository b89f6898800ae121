#include "engine/problem/attention/sample.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "engine/util/random.hpp"

namespace fa_tune::problem {
namespace {

// Positions of a head at which something of what a row sees changes, on both sides of each change;
// the first and the last.
std::vector<std::uint32_t> edges_of(const AttentionShape& shape) {
  std::vector<std::uint32_t> edges = {0, static_cast<std::uint32_t>(shape.Lq - 1)};
  const auto same = [&shape](const KeyRange& a, const KeyRange& b) {
    return (a.count() == 0) == (b.count() == 0) && (a.first == 0) == (b.first == 0) &&
           (a.end == shape.Lk) == (b.end == shape.Lk);
  };
  for (std::int64_t q = 1; q < shape.Lq; ++q) {
    if (same(shape.visible(q - 1), shape.visible(q))) continue;
    edges.push_back(static_cast<std::uint32_t>(q - 1));
    edges.push_back(static_cast<std::uint32_t>(q));
  }
  return edges;
}

}  // namespace

double work_of_rows(const AttentionShape& shape) {
  const std::int64_t pairs = std::max(shape.visible_pairs(), shape.Lq * RowSample::kLeastKeys);
  return static_cast<double>(shape.B * shape.H) * static_cast<double>(pairs * shape.D);
}

std::size_t stride_of_rows(const AttentionShape& shape, double cap) {
  const double strides = std::ceil(work_of_rows(shape) / cap);
  return std::bit_ceil(static_cast<std::size_t>(std::max(1.0, strides)));
}

RowSample RowSample::all(const AttentionShape& shape) {
  RowSample sample;
  const auto Lq = static_cast<std::size_t>(shape.Lq);
  for (std::int64_t head = 0; head < shape.B * shape.H; ++head) {
    sample.positions_.resize(sample.positions_.size() + Lq);
    std::iota(sample.positions_.end() - shape.Lq, sample.positions_.end(), 0U);
    sample.begin_of_head_.push_back(sample.positions_.size());
  }
  return sample;
}

RowSample RowSample::drawn(const AttentionShape& shape, std::uint64_t seed, double cap) {
  const std::size_t stride = stride_of_rows(shape, cap);
  if (stride == 1) return all(shape);
  RowSample sample;
  sample.stride_ = stride;
  Random random(derive_seed(seed, "sampled rows"));
  const auto Lq = static_cast<std::size_t>(shape.Lq);
  const std::vector<std::uint32_t> edges = edges_of(shape);
  for (std::int64_t head = 0; head < shape.B * shape.H; ++head) {
    std::vector<std::uint32_t> rows = edges;
    for (std::size_t first = 0; first < Lq; first += stride)
      rows.push_back(
          static_cast<std::uint32_t>(first + random.below(std::min(stride, Lq - first))));
    std::ranges::sort(rows);
    rows.erase(std::ranges::unique(rows).begin(), rows.end());
    sample.positions_.insert(sample.positions_.end(), rows.begin(), rows.end());
    sample.begin_of_head_.push_back(sample.positions_.size());
  }
  return sample;
}

}  // namespace fa_tune::problem
