#include "engine/device/emulator/trace/record.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace fa_tune::emulator {
namespace {

// More than any simulation of an SM looks at; bounds what is kept of a kernel without end.
constexpr std::size_t kMostRanges = 200'000;
constexpr std::size_t kFirstSize = 4096;  // a power of two

constexpr std::uint64_t Counters::*kPipeCounters[] = {
    &Counters::tensor,  &Counters::fma_f32, &Counters::half,
    &Counters::alu,     &Counters::special, &Counters::convert,
    &Counters::control, &Counters::shuffle, &Counters::load_store};
static_assert(std::size(kPipeCounters) == static_cast<std::size_t>(Pipe::load_store) + 1,
              "a counter for each pipe, in their order");

}  // namespace

std::size_t reuse_class_of(std::uint32_t sectors) {
  const auto width = static_cast<std::size_t>(std::bit_width(sectors));
  if (width < 2) return width;
  return std::min(2 * width - 1 + (sectors >> (width - 2) & 1U), kReuseClasses - 1);
}

OpCounters& OpCounters::operator+=(const OpCounters& other) {
  executions += other.executions;
  shared_wavefronts += other.shared_wavefronts;
  shared_wavefronts_ideal += other.shared_wavefronts_ideal;
  for (std::size_t i = 0; i < shared_wavefronts_as_wide.size(); ++i)
    shared_wavefronts_as_wide[i] += other.shared_wavefronts_as_wide[i];
  global_wavefronts += other.global_wavefronts;
  global_sectors += other.global_sectors;
  sectors_in_part += other.sectors_in_part;
  sectors_again += other.sectors_again;
  reads_again += other.reads_again;
  for (std::size_t i = 0; i < again_by_class.size(); ++i)
    again_by_class[i] += other.again_by_class[i];
  sectors_compared += other.sectors_compared;
  sectors_of_neighbour += other.sectors_of_neighbour;
  async_sectors += other.async_sectors;
  bulk_bytes += other.bulk_bytes;
  return *this;
}

SectorSet::SectorSet() : places_(kFirstSize) {}

void SectorSet::clear() {
  ++epoch_;
  held_ = 0;
}

std::size_t SectorSet::place_of(std::uint64_t sector) const {
  const std::size_t mask = places_.size() - 1;
  // Fibonacci hashing: neighbouring sectors go far apart.
  std::size_t at = (sector * 0x9e3779b97f4a7c15U) >> 20U & mask;
  while (places_[at].epoch == epoch_ && places_[at].sector != sector) at = (at + 1) & mask;
  return at;
}

bool SectorSet::has(std::uint64_t sector) const {
  return places_[place_of(sector)].epoch == epoch_;
}

std::optional<std::uint32_t> SectorSet::read(std::uint64_t sector, std::uint32_t op,
                                             std::uint32_t now) {
  if (2 * held_ >= places_.size()) grow();
  Place& place = places_[place_of(sector)];
  if (place.epoch == epoch_) return std::exchange(place.last_read, now);
  place = {sector, op, epoch_, now};
  ++held_;
  return std::nullopt;
}

void SectorSet::grow() {
  std::vector<Place> old(places_.size() * 4);
  old.swap(places_);
  const std::uint32_t epoch = epoch_;
  epoch_ = 1;
  held_ = 0;
  for (const Place& place : old) {
    if (place.epoch == epoch) read(place.sector, place.op, place.last_read);
  }
}

void Record::begin_block(std::uint64_t block, std::size_t warps) {
  totals.blocks += 1;
  totals.warps += warps;
  blocks_.push_back({block, std::vector<WarpTrace>(warps), {}});
  sectors_.clear();
}

void Record::issue(std::uint32_t slot, std::uint32_t warp, const Op& op) {
  attribute();
  totals.warp_instructions += 1;
  totals.*kPipeCounters[static_cast<std::size_t>(op.pipe)] += 1;
  const auto pc = static_cast<std::uint32_t>(&op - first_op_);
  ops_[pc].executions += 1;
  // What stays within its lane adds nothing else to the totals.
  any_ = op.kind != Kind::lanes;
  if (any_) {
    last_ = pc;
    before_ = totals;
  }

  WarpTrace& trace = blocks_[first_open_ + slot].warps[warp];
  warp_ = &trace;
  if (!trace.ranges.empty()) {
    PcRange& latest = trace.ranges.back();
    if (latest.end == pc) {
      trace.instructions += 1;
      if (trace.ranges.size() < kMostRanges) {
        latest.end = pc + 1;
        trace.kept += 1;
      }
      return;
    }
    // A second try of what had to wait.
    const bool waits = op.kind == Kind::converge || op.kind == Kind::warp_sync ||
                       op.kind == Kind::wait || op.kind == Kind::barrier;
    if (waits && latest.end == pc + 1) return;
  }
  trace.instructions += 1;
  if (trace.ranges.size() >= kMostRanges) return;
  trace.ranges.push_back({pc, pc + 1});
  trace.kept += 1;
}

void Record::attribute() {
  if (!any_) return;
  OpCounters& op = ops_[last_];
  op.shared_wavefronts += totals.shared_wavefronts - before_.shared_wavefronts;
  op.shared_wavefronts_ideal += totals.shared_wavefronts_ideal - before_.shared_wavefronts_ideal;
  op.global_wavefronts += totals.global_wavefronts - before_.global_wavefronts;
  op.global_sectors += totals.global_sectors_read - before_.global_sectors_read +
                       totals.global_sectors_written - before_.global_sectors_written;
  op.sectors_in_part += totals.global_sectors_in_part - before_.global_sectors_in_part;
  op.bulk_bytes += totals.bulk_bytes - before_.bulk_bytes;
  op.async_sectors += totals.async_sectors - before_.async_sectors;
  op.sectors_again += totals.global_sectors_again - before_.global_sectors_again;
}

std::uint64_t Record::read(std::span<const std::uint64_t> sectors) {
  OpCounters& op = ops_[last_];
  std::uint64_t again = 0;
  for (const std::uint64_t sector : sectors) {
    const std::uint32_t now = warp_->sectors++;
    const auto before = sectors_.read(sector, static_cast<std::uint32_t>(last_), now);
    if (!before) continue;
    again += 1;
    const std::uint32_t moved = now > *before ? now - *before : *before - now;
    const std::size_t reuse_class = reuse_class_of(moved);
    op.again_by_class[reuse_class] += 1;
    reuse_[reuse_class].reads += 1;
    reuse_[reuse_class].moved += moved;
  }
  op.reads_again += again == sectors.size() ? 1 : 0;
  return again;
}

std::uint64_t Record::sectors_of_busiest_warps() const {
  std::uint64_t sum = 0;
  for (const BlockTrace& block : blocks_) {
    std::uint32_t most = 0;
    for (const WarpTrace& warp : block.warps) most = std::max(most, warp.sectors);
    sum += most;
  }
  return sum;
}

void Record::compare_reads(const Record& neighbour) {
  sectors_.for_each([&](std::uint64_t sector, std::uint32_t op) {
    ops_[op].sectors_compared += 1;
    ops_[op].sectors_of_neighbour += neighbour.sectors_.has(sector) ? 1 : 0;
  });
}

void Record::end_blocks() {
  attribute();
  any_ = false;
  mbarriers_.clear();
  first_open_ = blocks_.size();
}

void Record::join(Record&& other) {
  totals += other.totals;
  atomics.join(other.atomics);
  ops_.resize(std::max(ops_.size(), other.ops_.size()));
  for (std::size_t i = 0; i < other.ops_.size(); ++i) ops_[i] += other.ops_[i];
  for (std::size_t i = 0; i < kReuseClasses; ++i) {
    reuse_[i].reads += other.reuse_[i].reads;
    reuse_[i].moved += other.reuse_[i].moved;
  }
  std::move(other.blocks_.begin(), other.blocks_.end(), std::back_inserter(blocks_));
  std::sort(blocks_.begin(), blocks_.end(),
            [](const BlockTrace& a, const BlockTrace& b) { return a.block < b.block; });
}

}  // namespace fa_tune::emulator
