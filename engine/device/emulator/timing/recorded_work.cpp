#include "engine/device/emulator/timing/recorded_work.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace fa_tune::emulator {
namespace {

// CTAs that differ by less are taken to be equal: then waves count, and not who is assigned what.
constexpr double kEqual = 1.05;
// So many CTAs of the grid in a row are taken to have as much to do as each other. Which of them
// have how much is known of eight.
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

// As a GPU does: a CTA after the other goes to the place that is free first. Returns those of the
// SM that is done last.
std::vector<std::size_t> assign(const std::vector<double>& work, std::uint64_t grid,
                                std::uint64_t sms, std::uint64_t resident) {
  std::vector<std::size_t> sorted(work.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = i;
  const bool falls = work.front() >= work.back();
  std::ranges::stable_sort(sorted, [&](std::size_t a, std::size_t b) {
    return falls ? work[a] > work[b] : work[a] < work[b];
  });
  using Place = std::pair<double, std::uint64_t>;  // when it is free, and its number
  std::priority_queue<Place, std::vector<Place>, std::greater<>> places;
  for (std::uint64_t i = 0; i < sms * resident; ++i) places.emplace(0, i);
  std::vector<std::vector<std::size_t>> of_sm(sms);
  std::vector<double> end(sms, 0);
  for (std::uint64_t i = 0; i < grid; ++i) {
    const auto [free, place] = places.top();
    places.pop();
    // Without the second term the CTAs that share an SM from the beginning would be alike.
    const std::uint64_t step = i / kAlike + i / sms * (sorted.size() / 2);
    const std::size_t block = sorted[step % sorted.size()];
    const std::uint64_t sm = place % sms;
    of_sm[sm].push_back(block);
    end[sm] = std::max(end[sm], free + work[block]);
    places.emplace(free + work[block], place);
  }
  return of_sm[static_cast<std::size_t>(std::ranges::max_element(end) - end.begin())];
}

}  // namespace

RecordedWork::RecordedWork(const Record& record, std::uint64_t grid, std::uint64_t sms,
                           int resident)
    : record_(record) {
  std::vector<double> work;
  for (const BlockTrace& block : record.blocks()) work.push_back(instructions_of(block));
  const auto [least, most] = std::ranges::minmax_element(work);
  if (grid <= sms) {
    order_ = {static_cast<std::size_t>(most - work.begin())};
  } else if (*most <= kEqual * *least || grid > kMostAssigned) {
    order_ = even_mixture((grid + sms - 1) / sms, work.size());
  } else {
    order_ = assign(work, grid, sms, static_cast<std::uint64_t>(std::max(resident, 1)));
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
