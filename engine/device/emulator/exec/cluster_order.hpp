#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/device/emulator/exec/grid.hpp"
#include "engine/device/emulator/state/interleaving.hpp"

namespace fa_tune::emulator {

// In which order the clusters of a launch begin, asked for one after the other.
class ClusterOrder {
 public:
  // All of `total`, or those in `only` if there are any: in order, or drawn within stretches of
  // `stretch`.
  ClusterOrder(std::uint64_t total, std::vector<std::uint64_t> only,
               const Interleaving& interleaving, std::uint64_t stretch)
      : total_(only.empty() ? total : only.size()),
        only_(std::move(only)),
        interleaving_(interleaving),
        stretch_(interleaving.mixes_blocks() ? std::max<std::uint64_t>(stretch, 1) : 0) {}
  // Those of `sample`, then no more; take_all() has all others follow.
  ClusterOrder(std::uint64_t total, std::vector<std::uint64_t> sample)
      : total_(total), sample_(std::move(sample)), sampled_only_(true) {}

  bool done() const { return begun_ >= (sampled_only_ ? std::uint64_t{sample_.size()} : total_); }
  bool sampled_only() const { return sampled_only_; }
  // Before the second has begun: in order; after it: those that are left, in order.
  void take_all() {
    sampled_only_ = false;
    sample_begun_ = begun_;
  }
  // How many have begun.
  std::uint64_t begun() const { return begun_; }
  // Of them, how many before others that come first in the grid.
  std::uint64_t out_of_turn() const { return sample_begun_; }
  bool is_sampled(std::uint64_t cluster) const {
    return std::binary_search(sample_.begin(), sample_.end(), cluster);
  }
  // The next one. To be asked only while not done().
  std::uint64_t next() {
    const std::uint64_t number = next_position();
    return only_.empty() ? number : only_[number];
  }

 private:
  std::uint64_t next_position() {
    const std::uint64_t position = begun_++;
    if (sampled_only_) return sample_[position];
    if (stretch_ != 0) return drawn(position);
    if (sample_begun_ == 0) return position;
    // Those of the sample that had begun are left out.
    while (std::binary_search(sample_.begin(),
                              sample_.begin() + static_cast<std::ptrdiff_t>(sample_begun_), rest_))
      ++rest_;
    return rest_++;
  }

  std::uint64_t drawn(std::uint64_t position) {
    const std::uint64_t place = position % stretch_;
    if (place == 0) {
      const std::uint64_t count = std::min(stretch_, total_ - position);
      drawn_.resize(count);
      for (std::uint64_t i = 0; i < count; ++i) drawn_[i] = position + i;
      for (std::size_t i = drawn_.size(); i > 1; --i)
        std::swap(drawn_[i - 1], drawn_[interleaving_.below(static_cast<std::uint32_t>(i))]);
    }
    return drawn_[place];
  }

  std::uint64_t total_;
  std::vector<std::uint64_t> only_;
  std::vector<std::uint64_t> sample_;
  bool sampled_only_ = false;
  std::uint64_t sample_begun_ = 0;  // of the sample, when the others followed
  std::uint64_t rest_ = 0;
  Interleaving interleaving_;
  std::uint64_t stretch_ = 0;  // 0: in order
  std::vector<std::uint64_t> drawn_;
  std::uint64_t begun_ = 0;
};

}  // namespace fa_tune::emulator
