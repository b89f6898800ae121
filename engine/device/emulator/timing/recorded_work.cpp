#include "engine/device/emulator/timing/recorded_work.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

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

double instructions_of(const BlockTrace& block) {
  double sum = 0;
  for (const WarpTrace& warp : block.warps) sum += static_cast<double>(warp.instructions);
  return sum;
}

// `count` of `recorded` CTAs, spread evenly.
std::vector<std::size_t> even_mixture(std::uint64_t count, std::size_t recorded) {
  std::vector<std::size_t> order;
  for (std::uint64_t i = 0; i < count; ++i) order.push_back((2 * i + 1) * recorded / (2 * count));
  return order;
}

// Of `grid` equal CTAs those of the SM that is done last. Where all that an SM holds go in step, the
// first SMs to finish take as many again, and the last wave is a full one for them; where they do
// not, each SM has its share, and the last CTAs have the SM to themselves. Of 20 kernels of mma.sync
// on an H200 the first was so with 2 and 4 CTAs an SM, the second with 3 and 6 (a log, 2026-11-29).
// Which it will be is not known: half way between.
std::uint64_t equal_ctas_of_last_sm(std::uint64_t grid, std::uint64_t sms, std::uint64_t resident) {
  const std::uint64_t share = (grid + sms - 1) / sms;
  const std::uint64_t places = sms * resident;
  const std::uint64_t in_full_waves = (grid + places - 1) / places * resident;
  return grid <= places ? share : (share + in_full_waves + 1) / 2;
}

// Which recorded CTA stands for each one of the grid: the one that is nearest in the row, the plane or
// the grid, in the first of these along which the work only rises or only falls, as it does with a
// causal mask along the rows of queries. If it does nowhere, as where long and short CTAs alternate,
// they take turns.
class StandIns {
 public:
  StandIns(const Record& record, const std::vector<double>& work, const Dim3& grid,
           std::uint64_t sms)
      : record_(record), sms_(sms) {
    for (const std::uint64_t period :
         {std::uint64_t{grid.x}, std::uint64_t{grid.x} * grid.y, grid.count()}) {
      if (!is_monotonic(work, period)) continue;
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
      return std::max(place, other) - std::min(place, other);
    };
    return static_cast<std::size_t>(std::ranges::min_element(blocks, {}, distance) -
                                    blocks.begin());
  }

 private:
  bool is_monotonic(const std::vector<double>& work, std::uint64_t period) const {
    std::vector<std::pair<std::uint64_t, double>> by_place;
    for (std::size_t i = 0; i < work.size(); ++i)
      by_place.emplace_back(record_.blocks()[i].block % period, work[i]);
    std::ranges::sort(by_place);
    bool rises = false;
    bool falls = false;
    for (std::size_t i = 1; i < by_place.size(); ++i) {
      rises = rises || by_place[i].second > kSame * by_place[i - 1].second;
      falls = falls || kSame * by_place[i].second < by_place[i - 1].second;
    }
    return rises != falls;
  }

  const Record& record_;
  std::uint64_t sms_;
  std::uint64_t period_ = 0;  // 0: nowhere
};

// An SM that shares its time out among its CTAs evenly.
struct BusySm {
  double now = 0;
  double received = 0;       // work, by each CTA that was there all the time
  std::vector<double> ends;  // what `received` will be when each of those that run is done
  std::vector<std::size_t> ran;

  void begin(std::size_t block, double work) {
    ends.push_back(received + work);
    ran.push_back(block);
  }
  double next_end() const {
    return now + (std::ranges::min(ends) - received) * static_cast<double>(ends.size());
  }
  void finish_one() {
    now = next_end();
    const auto done = std::ranges::min_element(ends);
    received = *done;
    ends.erase(done);
  }
};

// As a GPU does: one CTA to each SM, then the next one, and then one after the other to the SM that
// has room first. Returns those of the SM that is done last.
std::vector<std::size_t> assign(const StandIns& stand_ins, const std::vector<double>& work,
                                std::uint64_t grid, std::uint64_t sms, std::uint64_t resident) {
  std::vector<BusySm> all(sms);
  std::uint64_t begun = 0;
  const auto begin_next = [&](BusySm& sm) {
    if (begun == grid) return;
    const std::size_t block = stand_ins.of(begun++);
    sm.begin(block, work[block]);
  };
  for (std::uint64_t round = 0; round < resident; ++round)
    for (BusySm& sm : all) begin_next(sm);
  using End = std::pair<double, std::uint64_t>;  // when a CTA is done, and on which SM
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  for (std::uint64_t i = 0; i < sms; ++i)
    if (!all[i].ends.empty()) ends.emplace(all[i].next_end(), i);
  std::uint64_t last = 0;
  while (!ends.empty()) {
    last = ends.top().second;
    ends.pop();
    BusySm& sm = all[last];
    sm.finish_one();
    begin_next(sm);
    if (!sm.ends.empty()) ends.emplace(sm.next_end(), last);
  }
  return all[last].ran;
}

}  // namespace

RecordedWork::RecordedWork(const Record& record, const Dim3& grid, std::uint64_t sms, int resident)
    : record_(record) {
  std::vector<double> work;
  for (const BlockTrace& block : record.blocks()) work.push_back(instructions_of(block));
  const auto [least, most] = std::ranges::minmax_element(work);
  const auto places = static_cast<std::uint64_t>(std::max(resident, 1));
  if (grid.count() <= sms) {
    order_ = {static_cast<std::size_t>(most - work.begin())};
  } else if (*most <= kEqual * *least || grid.count() > kMostAssigned) {
    order_ = even_mixture(equal_ctas_of_last_sm(grid.count(), sms, places), work.size());
  } else {
    order_ = assign(StandIns(record, work, grid, sms), work, grid.count(), sms, places);
  }
}

double RecordedWork::instructions() const {
  double all = 0;
  for (const std::size_t i : order_) all += instructions_of(record_.blocks()[i]);
  return all;
}

double RecordedWork::kept(std::uint64_t count) const {
  double kept = 0;
  for (std::uint64_t i = 0; i < count; ++i)
    for (const WarpTrace& warp : trace_of(i).warps) kept += static_cast<double>(warp.kept);
  return kept;
}

}  // namespace fa_tune::emulator
