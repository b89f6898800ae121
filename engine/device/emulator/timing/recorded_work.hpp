#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/device/emulator/target/launch.hpp"
#include "engine/device/emulator/trace/record.hpp"

namespace fa_tune::emulator {

// The CTAs that one SM runs, in their order. Recorded ones stand for those that were not recorded, and
// have more or less to do than these.
class RecordedWork {
 public:
  // Of the SMs that are done last in a launch of `grid` on `sms` SMs that hold `resident` CTAs each,
  // the last first; no two of them run the same. One where all CTAs are equal. A cluster has `ranks`
  // CTAs along x. The record has a CTA at least, and outlives them.
  static std::vector<RecordedWork> of_last_sms(const Record& record, const Dim3& grid,
                                               std::uint64_t sms, int resident,
                                               std::uint64_t ranks = 1);

  std::uint64_t count() const { return order_.size(); }
  const BlockTrace& trace_of(std::uint64_t number) const {
    return record_.blocks()[order_[number]];
  }
  // Warp instructions of all CTAs, and what the traces keep of the first `count`.
  double instructions() const;
  double kept(std::uint64_t count) const;
  // What the SM's CTAs have to do, of what those do that stand for them.
  double scale() const { return scale_; }

 private:
  RecordedWork(const Record& record, std::vector<std::size_t> order, double scale = 1)
      : record_(record), order_(std::move(order)), scale_(scale) {}

  const Record& record_;
  std::vector<std::size_t> order_;  // of the record's CTAs
  double scale_;
};

}  // namespace fa_tune::emulator
