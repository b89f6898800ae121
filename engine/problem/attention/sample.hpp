#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/problem/attention/shape.hpp"

namespace fa_tune::problem {

// The rows of O that the truth is computed of: all, or of a large shape some.
//
// Work is counted in multiplications of Q K^T: visible pairs times D, where a row counts as if it
// saw `least_keys`, since each element that is known is compared too, for every kernel. Where a
// shape has more of it than `cap`, one row is drawn from every `stride` neighbours of every head,
// where stride is the power of two that brings the work under the cap; besides them come the first
// and the last row of every head, and both sides of each place where a row begins or ceases to see
// anything, the first key, or the last key. Another seed draws other rows.
//
// What this finds of a kernel that is wrong in places. Of `rows` neighbouring wrong rows of one
// head, one is met for certain where an aligned block of stride lies among them (a tile of 64 rows
// with a stride of 64 or less), else with odds of about rows / stride; over n cases, which draw
// anew, 1 - (1 - rows / stride)^n. Every head and batch counts for itself: a tile that is wrong in
// each of 16 heads is missed with the 16th power of that. A single wrong row is found with odds of
// 1 / stride a case; what it can hold unseen is a value within the limits of value_bounds.hpp.
class RowSample {
 public:
  // 2^33 take six seconds of one core. So at most 2^21 elements are known, which is all of the
  // largest shape of the suites at D = 64.
  static constexpr double kUsualCap = 0x1p33;
  static constexpr std::int64_t kLeastKeys = 4096;

  static RowSample all(const AttentionShape& shape);
  static RowSample drawn(const AttentionShape& shape, std::uint64_t seed, double cap = kUsualCap);

  std::size_t stride() const { return stride_; }  // 1: these are all
  std::size_t size() const { return positions_.size(); }
  std::size_t heads() const { return begin_of_head_.size() - 1; }
  // `head` counts through all batches. The place of its first row among these, and the position of
  // each of its rows, rising.
  std::size_t begin(std::size_t head) const { return begin_of_head_[head]; }
  std::size_t end(std::size_t head) const { return begin_of_head_[head + 1]; }
  std::span<const std::uint32_t> of_head(std::size_t head) const {
    return std::span(positions_).subspan(begin(head), end(head) - begin(head));
  }

 private:
  std::size_t stride_ = 1;
  std::vector<std::uint32_t> positions_;
  std::vector<std::size_t> begin_of_head_ = {0};
};

// The work of all rows as it counts here.
double work_of_rows(const AttentionShape& shape);
// What stride a sample of the shape has.
std::size_t stride_of_rows(const AttentionShape& shape, double cap);

}  // namespace fa_tune::problem
