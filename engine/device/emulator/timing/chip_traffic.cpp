// L2 and DRAM as all SMs together use them. Rates and latencies are the profile's; the constants below
// were measured, or set on the train variants, where that is said.

#include "engine/device/emulator/timing/chip_traffic.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

#include "engine/device/emulator/async/async_copy.hpp"
#include "engine/device/emulator/timing/l2_link.hpp"

namespace fa_tune::emulator {
namespace {

// Where many CTAs read the same lines at about the same time, L2 serves several SMs at once. It
// is this much faster than its rate for lines that are read once, if lines are read at least that
// often. Set on the train variants.
constexpr double kSharedLineGain = 1.45;
constexpr double kSharedLineReads = 12;
// Bulk copies of several SMs for the same data meet on their way, so that L2 gives it once to as
// many as these. While all SMs of an H200 copy, each gets 34 bytes a clock of data of its own. Of
// what 132 blocks read it gets 78, all that its port takes, if they read within the same 64 KB,
// but 42 within 256 KB and 36 within a megabyte (microbench_h200_copies.json). Blocks of a kernel
// drift apart as they walk, and the more if some have less to do than others. By Nsight Compute's
// counters of kernels of mma.sync that wait for L2 most of the time, SMs receive 1.2 to 1.7 times
// what L2 gives, under a causal mask 1.15 to 1.35 times (a log, 2026-11-29). Which of them,
// nothing here tells: set on the eighth and the tenth seed's kernels. When a launch begins blocks
// are still together.
constexpr double kMeetingCopies = 2;
constexpr double kUnlikeMeet = 0.85;  // of these, where work is as unlike as under a causal mask
constexpr double kUnlike = 0.55;
constexpr double kMeetingCopiesAtFirst = 2.3;
// What a launch wrote last is still in L2 when it ends, this share of L2: the launch after it has to
// wait until DRAM takes it. By Nsight Compute's counters of kernels that wrote 67 or 134 MB on an
// H100 and an H200: 0.29 to 0.52, mostly 0.42.
constexpr double kWritesLeftInL2 = 0.42;

// For share_of_dram_latency: the tiles that a CTA reads, and the time from one to the next, in
// latencies of DRAM. With twice the tiles, or twice or half the time, most shares move by 0.11 at most.
// With half the time that of 64 readers on 132 places goes from 0.11 to 0.40, where 0.23 to 0.33 were measured.
constexpr std::size_t kTiles = 32;
constexpr double kTileTime = 2;
// CTAs that are looked at. Of more the rest are taken to go on like that.
constexpr std::uint64_t kMostFollowed = 1 << 13;

double meeting_copies(const Traffic& traffic) {
  const double unlike = std::min(traffic.unlike / kUnlike, 1.0);
  return std::min(readers_of_copies(traffic), kMeetingCopies * std::lerp(1, kUnlikeMeet, unlike));
}

double meeting_copies_at_first(const Traffic& traffic) {
  return std::min(readers_of_copies(traffic), kMeetingCopiesAtFirst);
}

// Standard deviation of what CTAs have to do, of the mean.
double unlike(const Record& record) {
  double sum = 0;
  double squares = 0;
  for (const BlockTrace& block : record.blocks()) {
    const double work = block.instructions();
    sum += work;
    squares += work * work;
  }
  if (sum <= 0) return 0;
  return std::sqrt(std::max(squares * real(record.blocks().size()) / (sum * sum) - 1, 0.0));
}

// Of what L2 has for the SMs, what one of the busy ones gets if L2 is `gain` times as fast.
double share_of_l2(const DeviceProfile& profile, double gain, double busy_sms) {
  const double share = profile.l2_bytes_per_clock_sm * profile.sms * gain / busy_sms;
  return std::min(profile.l2_port_bytes_per_clock_sm, share);
}

// And of what DRAM brings, in the part that it does: L2 waits for that.
double share_of_dram(const DeviceProfile& profile, const Traffic& traffic, double busy_sms) {
  const double missed = dram_bytes(profile, traffic);
  if (missed <= 0) return std::numeric_limits<double>::infinity();
  const double dram = profile.dram_gb_per_s * 1e3 / profile.clock_mhz / busy_sms;
  return dram * (traffic.read + traffic.written) / missed;
}

}  // namespace

Traffic traffic_of(const Program& program, const std::vector<Cost>& costs, const Record& record,
                   double to_grid, const Counters& grid, double reachable_bytes,
                   const L1Reuse& l1) {
  Traffic traffic;
  traffic.read = real(grid.global_sectors_read) * kSectorBytes;
  traffic.first = traffic.read - real(grid.global_sectors_again) * kSectorBytes;
  traffic.written = real(grid.global_sectors_written) * kSectorBytes;
  for (std::size_t i = 0; i < record.ops().size(); ++i) {
    const OpCounters& did = record.ops()[i];
    if (costs[i].role == Role::global_read)
      traffic.read -= l1_hits(did, l1) * to_grid * kSectorBytes;
    if (costs[i].role == Role::async_copy)
      traffic.copied += real(did.global_sectors) * to_grid * kSectorBytes;
    const double bytes = real(did.bulk_bytes) * to_grid;
    if (bytes <= 0) continue;
    const auto route = static_cast<Route>(program.ops[i].m[0]);
    if (route == Route::load) {
      traffic.read += bytes;
      traffic.first += bytes;
      traffic.bulk += bytes;
    }
    if (route == Route::store) traffic.written += bytes;
  }
  // Beside bulk copies others bring what is read once: Q beside K and V.
  if (traffic.bulk > 0) traffic.copied = traffic.bulk;
  traffic.distinct = std::min(reachable_bytes, traffic.read + traffic.written);
  traffic.unlike = unlike(record);
  return traffic;
}

double dram_bytes(const DeviceProfile& profile, const Traffic& traffic) {
  return traffic.distinct > static_cast<double>(profile.l2_bytes) ? traffic.distinct : 0;
}

double dram_bytes_of_launch(const DeviceProfile& profile, const Traffic& traffic) {
  const double left =
      std::min(traffic.written, kWritesLeftInL2 * static_cast<double>(profile.l2_bytes));
  return std::max(dram_bytes(profile, traffic) - left, 0.0);
}

double l2_bytes_per_clock(const DeviceProfile& profile, const Traffic& traffic, double busy_sms) {
  const double reads = traffic.read / std::max(traffic.distinct, 1.0);
  const double gain = std::clamp(reads / kSharedLineReads * kSharedLineGain, 1.0, kSharedLineGain);
  return share_of_l2(profile, gain, busy_sms);
}

double bytes_per_clock(const DeviceProfile& profile, const Traffic& traffic, double busy_sms) {
  return std::min(l2_bytes_per_clock(profile, traffic, busy_sms),
                  share_of_dram(profile, traffic, busy_sms));
}

BulkGain bulk_gain(const DeviceProfile& profile, const Traffic& traffic, double busy_sms) {
  const double others = bytes_per_clock(profile, traffic, busy_sms);
  if (others <= 0) return {};
  const auto gain = [&](double meeting) {
    const double bulk = std::min(share_of_l2(profile, meeting, busy_sms),
                                 share_of_dram(profile, traffic, busy_sms));
    return std::max(bulk / others, 1.0);
  };
  return {gain(meeting_copies_at_first(traffic)), gain(meeting_copies(traffic))};
}

double store_cost(const DeviceProfile& profile, const Traffic& traffic, double busy_sms) {
  const double loads = bytes_per_clock(profile, traffic, busy_sms);
  const double stores =
      std::min(l2_bytes_per_clock(profile, traffic, busy_sms) / L2Link::kStoreCost,
               share_of_dram(profile, traffic, busy_sms));
  return stores > 0 ? loads / stores : 1;
}

double l2_us(const DeviceProfile& profile, const Traffic& traffic, double missed, double link_us) {
  if (profile.l2_hit_gb_per_s <= 0 || profile.l2_miss_gb_per_s <= 0) return link_us;
  const double met = traffic.bulk * (1 - 1 / meeting_copies(traffic));
  const double hit = std::max(traffic.read + traffic.written - met - missed, 0.0);
  return (hit / profile.l2_hit_gb_per_s + missed / profile.l2_miss_gb_per_s) / 1e3;
}

double readers_of_copies(const Traffic& traffic) {
  const double others = std::max(traffic.read - traffic.copied, 0.0);
  const double distinct =
      std::max(traffic.distinct - traffic.written - others, 0.1 * traffic.distinct);
  return std::max(traffic.copied / std::max(distinct, 1.0), 1.0);
}

double share_of_dram_latency(double ctas, double slots, double readers) {
  const auto count = static_cast<std::uint64_t>(std::max(ctas, 1.0));
  const std::uint64_t followed = std::min(count, kMostFollowed);
  const auto together = static_cast<std::uint64_t>(std::max(readers + 0.5, 1.0));
  using Free = std::priority_queue<double, std::vector<double>, std::greater<>>;
  Free free(std::greater<>(),
            std::vector<double>(static_cast<std::size_t>(std::max(slots, 1.0)), 0));
  std::array<double, kTiles> there{};  // when L2 has each tile
  double waited = 0;
  for (std::uint64_t cta = 0; cta < followed; ++cta) {
    double at = free.top();
    free.pop();
    for (double& tile : there) {
      if (cta % together == 0) tile = at + 1;
      const double wait = std::clamp(tile - at, 0.0, 1.0);
      waited += wait;
      at += wait + kTileTime;
    }
    free.push(at);
  }
  return waited / (static_cast<double>(followed) * static_cast<double>(kTiles));
}

}  // namespace fa_tune::emulator
