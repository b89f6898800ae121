#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/problem/attention/shape.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune::problem {

// What Q, K and V hold as bits, and with e4m3 the scales beside them.

// Writes values to a tensor of 16 bits, rounded to its type.
void store_rounded(Tensor& tensor, std::span<const float> values);

// The name of the scales of Q, K or V.
std::string scales_of(const std::string& tensor);
// The scales of an e4m3 tensor, [B, heads, blocks], without their bytes.
Tensor scales_beside(const Tensor& tensor, const AttentionShape& shape, std::int64_t heads,
                     std::int64_t length);

// Writes values to an e4m3 tensor and to the scales beside it. A block's scale makes its largest
// element 448 or, by a factor drawn for each, as little as a quarter of that: real scales follow
// their data, but those of normal data would be so alike that one could stand in for another.
void store_scaled(Tensor& tensor, Tensor& scales, std::span<const float> values,
                  const AttentionShape& shape, const RowOrder& rows, std::int64_t length,
                  std::uint64_t seed);

// Reads Q, K or V of an instance.
class Elements {
 public:
  Elements(const AttentionShape& shape, const Instance& instance, const std::string& name);

  // The elements from `first` on as their bits say, as they lie in memory.
  void read(std::size_t first, std::span<float> to) const;
  // What a row's elements must be multiplied by; `head` counts through all batches.
  float scale(std::size_t head, std::size_t position) const {
    return scales_.empty() ? 1.0F : scales_[head * blocks_ + position / rows_];
  }

 private:
  const Tensor& tensor_;
  std::vector<float> scales_;
  std::size_t blocks_ = 0;  // of a head
  std::size_t rows_ = 1;    // of a block
};

const Tensor& find_tensor(const Instance& instance, const std::string& name);

}  // namespace fa_tune::problem
