#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/problem/attention/shape.hpp"

namespace fa_tune {

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

}  // namespace fa_tune
