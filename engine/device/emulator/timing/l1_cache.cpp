#include "engine/device/emulator/timing/l1_cache.hpp"

#include <algorithm>
#include <cmath>

#include "engine/device/emulator/timing/pseudo_sass.hpp"

namespace fa_tune::emulator {
namespace {

// L1 and shared memory are one memory, 28 KB larger than the most that shared memory can take. What
// shared memory leaves of it holds spills too; those that do not fit go to L2. Shared memory has one
// of these sizes, in KB. Both: CUDA C++ Programming Guide, compute capabilities 8.0 to 9.0.
constexpr double kL1Beside = 28 * 1024;
constexpr std::array<double, 10> kSharedSizes = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};

// CTAs that began together read the same at the same time while they are in step. By the sectors that
// reached L2 of two kernels of the ladder on an H100: three fifths of those that were asked for.
constexpr double kInStep = 0.3;

// Of what a CTA reads: what another on the same SM reads as well.
double shared_with_neighbours(const Record& record) {
  double compared = 0, shared = 0;
  for (const OpCounters& op : record.ops()) {
    compared += real(op.sectors_compared);
    shared += real(op.sectors_of_neighbour);
  }
  return compared > 0 ? shared / compared : 0;
}

// Of those sectors of an instruction that its CTA reads for the first time, the share that L1 has.
double hits_of_first(const OpCounters& op, const L1Reuse& l1) {
  if (op.sectors_compared == 0) return 0;
  return real(op.sectors_of_neighbour) / real(op.sectors_compared) * l1.neighbours;
}

double hits_of_again(const OpCounters& op, const L1Reuse& l1) {
  double hits = 0;
  for (std::size_t i = 0; i < kReuseClasses; ++i) hits += real(op.again_by_class[i]) * l1.again[i];
  return hits;
}

}  // namespace

bool reads_through_l1(const Program& program, const DeviceProfile& profile) {
  return std::ranges::any_of(translate_each(program, profile),
                             [](const Cost& cost) { return cost.role == Role::global_read; });
}

double l1_bytes(const DeviceProfile& profile, const KernelResources& resources,
                const LaunchConfig& launch, int blocks) {
  const double used =
      blocks * (resources.static_shared_bytes + static_cast<double>(launch.dynamic_shared_bytes) +
                profile.shared_reserved_per_block);
  double shared = profile.shared_per_sm;
  for (const double size : kSharedSizes)
    if (size * 1024 >= used) shared = std::min(shared, size * 1024);
  return profile.shared_per_sm - shared + kL1Beside;
}

L1Reuse l1_reuse(const Record& record, int blocks, double rounds, double l1_bytes) {
  const Counters& totals = record.totals;
  const auto kept = [&](double sectors) {
    return std::min(l1_bytes / std::max(sectors * kSectorBytes, 1.0), 1.0);
  };
  const double first = real(totals.global_sectors_read - totals.global_sectors_again);
  const double written = real(totals.global_sectors_written);
  const double ctas = std::max(real(totals.blocks), 1.0);

  L1Reuse l1;
  // Between the reads of two CTAs that are not in step, and as far apart as they are by chance, all of
  // them together read what one does; what one writes takes room from when it is written, half of it
  // in the mean.
  const double by_chance = kept((first + written / 2) / ctas);
  l1.neighbours = std::lerp(by_chance, 1.0, kInStep) * (1 - 1 / (blocks * rounds));

  // What all CTAs of the SM read is there once.
  const double once = shared_with_neighbours(record) * (blocks - 1) / blocks;
  const auto& reuse = record.reuse();
  double later = first * (1 - once) + written;  // accesses that come back after a class, or never
  for (const ReuseClass& each : reuse) later += real(each.reads);
  const double accesses = std::max(real(totals.global_sectors_read) + written, 1.0);
  // Of a CTA, for each of one warp.
  const double at_once = accesses / std::max(real(record.sectors_of_busiest_warps()), 1.0);
  double before = 0, different = 0;  // accesses of a CTA, and sectors among them
  for (std::size_t i = 0; i < kReuseClasses; ++i) {
    if (reuse[i].reads == 0) continue;
    const double reads = real(reuse[i].reads);
    const double now = real(reuse[i].moved) / reads * at_once;
    different += (now - before) * later / accesses;
    l1.again[i] = kept(different * blocks);
    before = now;
    later -= reads;
  }
  return l1;
}

double l1_hits(const OpCounters& op, const L1Reuse& l1) {
  return hits_of_again(op, l1) + real(op.global_sectors - op.sectors_again) * hits_of_first(op, l1);
}

LoadSources load_sources(const OpCounters& op, const L1Reuse& l1) {
  if (op.executions == 0) return {};
  const double again = std::min(real(op.reads_again) / real(op.executions), 1.0);
  const double kept = op.sectors_again > 0 ? hits_of_again(op, l1) / real(op.sectors_again) : 0;
  const double first = hits_of_first(op, l1);
  return {.l1 = again * kept + (1 - again) * first, .first = (1 - again) * (1 - first)};
}

}  // namespace fa_tune::emulator
