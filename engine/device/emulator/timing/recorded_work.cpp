#include "engine/device/emulator/timing/recorded_work.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "engine/device/emulator/target/profile.hpp"

namespace fa_tune::emulator {
namespace {

// CTAs that differ by less are taken to be equal: then waves count, and not who is assigned what.
constexpr double kEqual = 1.05;
// Work that changes by less from one recorded CTA to the next neither rises nor falls.
constexpr double kSame = 1.02;
// CTAs in a row that are taken to be alike where nothing is known of their order.
constexpr std::uint64_t kAlike = 4;
// CTAs that are assigned to SMs one by one. Of more the last ones matter no more.
constexpr std::uint64_t kMostAssigned = 1 << 16;
// The share of a partition's time that a warp alone makes use of; each further one uses as much of
// what is left. With it the SMs of seven causal kernels of mma.sync work 0.70 to 0.96 and 1.07 to
// 1.27 times as long as the mean one; on an H200 Nsight Compute measured 0.68 to 0.96 and 1.06 to 1.31
// (tools/bench/results/clock, "who is done last"). Which of those at the end is the last one that
// does not tell: so several are looked at.
constexpr double kUseOfOneWarp = 0.5;
constexpr std::size_t kLastSms = 3;

// `count` of `recorded` CTAs, spread evenly.
std::vector<std::size_t> even_mixture(std::uint64_t count, std::size_t recorded) {
  std::vector<std::size_t> order;
  for (std::uint64_t i = 0; i < count; ++i) order.push_back((2 * i + 1) * recorded / (2 * count));
  return order;
}

// Of `grid` equal CTAs those of the SM that is done last. On an H200 it had as many with 81 of the
// 88 kernels that had more CTAs than SMs, and one or two more with the others, all of mma.sync
// (ctas_h200.json).
std::uint64_t equal_ctas_of_last_sm(std::uint64_t grid, std::uint64_t sms) {
  return (grid + sms - 1) / sms;
}

// Which recorded CTA stands for each one of the grid: the one that is nearest in the row, the plane or
// the grid, in the first of these along which the work only rises or only falls, as it does with a
// causal mask along the rows of queries. If it does nowhere, as where long and short CTAs alternate,
// they take turns. What a CTA has to do lies between what its neighbours have that were recorded.
//
// CTAs of a cluster wait for each other, and do not have the same work: the second of two rows of
// queries has more keys to hide. So those of each rank are a row of their own.
class StandIns {
 public:
  // A cluster has `ranks` CTAs in a row.
  StandIns(const Record& record, const std::vector<double>& work, const Dim3& grid,
           std::uint64_t sms, std::uint64_t ranks)
      : record_(record), work_(work), sms_(sms), ranks_(ranks) {
    for (const std::uint64_t period :
         {std::uint64_t{grid.x}, std::uint64_t{grid.x} * grid.y, grid.count()}) {
      by_place_ = placed(period);
      if (!is_monotonic()) continue;
      period_ = period;
      break;
    }
  }

  std::size_t of(std::uint64_t cta) const {
    const auto& blocks = record_.blocks();
    // Without the second term the CTAs that share an SM from the beginning would be alike.
    if (period_ == 0) return (cta / kAlike + cta / sms_ * (blocks.size() / 2)) % blocks.size();
    const std::uint64_t place = cta % period_;
    const auto distance = [&](const BlockTrace& block) {
      const std::uint64_t other = block.block % period_;
      const std::uint64_t away = std::max(place, other) - std::min(place, other);
      return other % ranks_ == place % ranks_ ? away : away + period_;
    };
    return static_cast<std::size_t>(std::ranges::min_element(blocks, {}, distance) -
                                    blocks.begin());
  }

  // Instructions of a CTA that recorded one `stand_in` stands for.
  double work_of(std::uint64_t cta, std::size_t stand_in) const {
    if (period_ == 0) return work_[stand_in];
    const std::pair<std::uint64_t, double> here{cta % period_, 0};
    const ByPlace& row = by_place_[here.first % ranks_];
    if (row.empty()) return work_[stand_in];
    const auto behind = std::ranges::lower_bound(row, here);
    if (behind == row.begin()) return behind->second;
    if (behind == row.end()) return row.back().second;
    const auto [before_at, before] = *std::prev(behind);
    const auto [behind_at, after] = *behind;
    const double way = static_cast<double>(here.first - before_at) /
                       static_cast<double>(std::max<std::uint64_t>(behind_at - before_at, 1));
    return std::lerp(before, after, way);
  }

 private:
  using ByPlace = std::vector<std::pair<std::uint64_t, double>>;  // work of recorded CTAs

  std::vector<ByPlace> placed(std::uint64_t period) const {
    std::vector<ByPlace> by_place(ranks_);
    for (std::size_t i = 0; i < work_.size(); ++i) {
      const std::uint64_t place = record_.blocks()[i].block % period;
      by_place[place % ranks_].emplace_back(place, work_[i]);
    }
    for (ByPlace& row : by_place) std::ranges::sort(row);
    return by_place;
  }
  bool is_monotonic() const {
    bool rises = false;
    bool falls = false;
    for (const ByPlace& row : by_place_) {
      for (std::size_t i = 1; i < row.size(); ++i) {
        rises = rises || row[i].second > kSame * row[i - 1].second;
        falls = falls || kSame * row[i].second < row[i - 1].second;
      }
    }
    return rises != falls;
  }

  const Record& record_;
  const std::vector<double>& work_;
  std::uint64_t sms_;
  std::uint64_t ranks_;
  std::uint64_t period_ = 0;       // 0: nowhere
  std::vector<ByPlace> by_place_;  // of each rank
};

// What several warps of a partition get done in the time in which one would do 1 if it never waited.
double done_by(std::size_t warps) {
  return 1 - std::pow(1 - kUseOfOneWarp, static_cast<double>(warps));
}

// An SM whose CTAs' warps share their partitions. A CTA's are in the partitions behind those of the CTA
// before it, whoever has gone meanwhile: so it is on an H200 (placement_h200.json, "partitions").
class BusySm {
 public:
  explicit BusySm(std::size_t warps_of_a_cta) : warps_(warps_of_a_cta) {}

  bool idle() const { return running_.empty(); }
  double now() const { return now_; }
  const std::vector<std::size_t>& ran() const { return ran_; }
  double scale() const { return stand_ins_ > 0 ? work_ / stand_ins_ : 1; }

  // `block` stands for a CTA of `work`, and has `stand_in` itself.
  void begin(std::size_t block, double work, double stand_in) {
    running_.push_back({work / static_cast<double>(warps_), first_partition_});
    first_partition_ = (first_partition_ + warps_) % kPartitions;
    ran_.push_back(block);
    work_ += work;
    stand_ins_ += stand_in;
  }
  double next_end() const {
    double least = std::numeric_limits<double>::infinity();
    const auto rates = partition_rates();
    for (const Cta& cta : running_) least = std::min(least, cta.left / rate_of(cta, rates));
    return now_ + least;
  }
  void finish_one() {
    const double end = next_end();
    const auto rates = partition_rates();
    for (Cta& cta : running_) cta.left -= rate_of(cta, rates) * (end - now_);
    now_ = end;
    running_.erase(std::ranges::min_element(running_, {}, &Cta::left));
  }

 private:
  struct Cta {
    double left;  // instructions of each warp
    std::size_t first_partition;
  };
  using Rates = std::array<double, kPartitions>;

  // Of each warp that is there.
  Rates partition_rates() const {
    std::array<std::size_t, kPartitions> warps{};
    for (const Cta& cta : running_)
      for (std::size_t i = 0; i < warps_; ++i) ++warps[(cta.first_partition + i) % kPartitions];
    Rates rates{};
    for (std::size_t i = 0; i < kPartitions; ++i)
      rates[i] = done_by(warps[i]) / static_cast<double>(std::max<std::size_t>(warps[i], 1));
    return rates;
  }
  // The slowest of its warps'.
  double rate_of(const Cta& cta, const Rates& rates) const {
    double slowest = 1;
    for (std::size_t i = 0; i < std::min<std::size_t>(warps_, kPartitions); ++i)
      slowest = std::min(slowest, rates[(cta.first_partition + i) % kPartitions]);
    return slowest;
  }

  std::size_t warps_;
  double now_ = 0;
  std::size_t first_partition_ = 0;  // of the next CTA
  std::vector<Cta> running_;
  std::vector<std::size_t> ran_;
  double work_ = 0;  // of all that it ran, and of those that stand for them
  double stand_ins_ = 0;
};

// As a GPU does: one CTA to each SM, then the next one, and then one after the other to the SM that
// has room first. Returns those of the SMs that are done last.
std::vector<BusySm> assign(const StandIns& stand_ins, const std::vector<double>& work,
                           std::size_t warps, std::uint64_t grid, std::uint64_t sms,
                           std::uint64_t resident) {
  std::vector<BusySm> all(sms, BusySm(warps));
  std::uint64_t begun = 0;
  const auto begin_next = [&](BusySm& sm) {
    if (begun == grid) return;
    const std::size_t block = stand_ins.of(begun);
    sm.begin(block, stand_ins.work_of(begun++, block), work[block]);
  };
  for (std::uint64_t round = 0; round < resident; ++round)
    for (BusySm& sm : all) begin_next(sm);
  using End = std::pair<double, std::uint64_t>;  // when a CTA is done, and on which SM
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  for (std::uint64_t i = 0; i < sms; ++i)
    if (!all[i].idle()) ends.emplace(all[i].next_end(), i);
  while (!ends.empty()) {
    const std::uint64_t next = ends.top().second;
    ends.pop();
    BusySm& sm = all[next];
    sm.finish_one();
    begin_next(sm);
    if (!sm.idle()) ends.emplace(sm.next_end(), next);
  }
  std::ranges::stable_sort(all, std::greater{}, &BusySm::now);
  std::vector<BusySm> last;
  for (BusySm& sm : all)
    if (last.size() < kLastSms && std::ranges::find(last, sm.ran(), &BusySm::ran) == last.end())
      last.push_back(std::move(sm));
  return last;
}

}  // namespace

std::vector<RecordedWork> RecordedWork::of_last_sms(const Record& record, const Dim3& grid,
                                                    std::uint64_t sms, int resident,
                                                    std::uint64_t ranks) {
  std::vector<double> work;
  for (const BlockTrace& block : record.blocks()) work.push_back(block.instructions());
  const auto [least, most] = std::ranges::minmax_element(work);
  const auto places = static_cast<std::uint64_t>(std::max(resident, 1));
  std::vector<RecordedWork> all;
  if (grid.count() <= sms) {
    all.push_back(RecordedWork(record, {static_cast<std::size_t>(most - work.begin())}));
  } else if (*most <= kEqual * *least || grid.count() > kMostAssigned) {
    all.push_back(
        RecordedWork(record, even_mixture(equal_ctas_of_last_sm(grid.count(), sms), work.size())));
  } else {
    const std::size_t warps = std::max<std::size_t>(record.blocks().front().warps.size(), 1);
    for (const BusySm& sm :
         assign(StandIns(record, work, grid, sms, ranks), work, warps, grid.count(), sms, places))
      all.push_back(RecordedWork(record, sm.ran(), sm.scale()));
  }
  return all;
}

double RecordedWork::instructions() const {
  double all = 0;
  for (const std::size_t i : order_) all += record_.blocks()[i].instructions();
  return all;
}

double RecordedWork::kept(std::uint64_t count) const {
  double kept = 0;
  for (std::uint64_t i = 0; i < count; ++i)
    for (const WarpTrace& warp : trace_of(i).warps) kept += static_cast<double>(warp.kept);
  return kept;
}

}  // namespace fa_tune::emulator
