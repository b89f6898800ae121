// Names and meanings: NVIDIA, Nsight Compute's Kernel Profiling Guide ("Metrics Reference", "Warp
// Stall Reasons", "Hardware Model"). `pct_of_peak_sustained_active` is of the cycles in which the
// unit's SM had work, `_elapsed` of all. A ratio `..._per_issue_active` is how many warps of a
// scheduler were in that state, on average, whenever an instruction was issued.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/core.h>

#include "engine/profiler/ncu.hpp"
#include "engine/util/error.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::profiler {
namespace {

struct ShareMetric {
  const char* name;
  Bottleneck resource;
};

// Several of one resource: the highest counts.
constexpr std::array kShareMetrics = {
    // Cycles in which a scheduler issued an instruction.
    ShareMetric{"smsp__issue_active.avg.pct_of_peak_sustained_active", Bottleneck::issue},
    // Cycles in which the tensor pipe worked: mma and wgmma, which take many cycles each, so that
    // counting instructions would say nothing.
    ShareMetric{"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
                Bottleneck::tensor},
    // Hopper's matrix pipe by itself; Ampere and Ada have it for fp16 alone.
    ShareMetric{"sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
                Bottleneck::tensor},
    // Warp instructions of each pipe. fma: f32 multiply and add, and integer multiply-add.
    ShareMetric{"sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active", Bottleneck::fma},
    ShareMetric{"sm__inst_executed_pipe_fp16.avg.pct_of_peak_sustained_active", Bottleneck::half},
    ShareMetric{"sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active", Bottleneck::fp64},
    ShareMetric{"sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active", Bottleneck::alu},
    // xu: transcendental functions, and conversions from and to integers.
    ShareMetric{"sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active", Bottleneck::special},
    // The banks of L1 and shared memory; what loads and stores take of them, and what all do,
    // copies and matrix units that read shared memory themselves included.
    ShareMetric{"l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active",
                Bottleneck::shared_memory},
    ShareMetric{"l1tex__data_bank_reads.avg.pct_of_peak_sustained_active",
                Bottleneck::shared_memory},
    ShareMetric{"l1tex__data_bank_writes.avg.pct_of_peak_sustained_active",
                Bottleneck::shared_memory},
    // The same of all cycles, which Nsight Compute's own sections ask for.
    ShareMetric{"l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
                Bottleneck::shared_memory},
    ShareMetric{"l1tex__data_bank_reads.avg.pct_of_peak_sustained_elapsed",
                Bottleneck::shared_memory},
    ShareMetric{"l1tex__data_bank_writes.avg.pct_of_peak_sustained_elapsed",
                Bottleneck::shared_memory},
    // L2: the busiest of its stages, and the sectors that it serves.
    ShareMetric{"lts__throughput.avg.pct_of_peak_sustained_elapsed", Bottleneck::l2},
    ShareMetric{"lts__t_sectors.avg.pct_of_peak_sustained_elapsed", Bottleneck::l2},
    ShareMetric{"dram__throughput.avg.pct_of_peak_sustained_elapsed", Bottleneck::dram},
    ShareMetric{"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", Bottleneck::dram},
};

struct StallMetric {
  const char* reason;
  const char* meaning;
};

constexpr std::array kStallMetrics = {
    StallMetric{"long_scoreboard", "data from L2, DRAM or local memory"},
    StallMetric{"short_scoreboard", "data from shared memory, special functions, other lanes"},
    StallMetric{"barrier", "other warps at a barrier"},
    StallMetric{"gmma", "wgmma: the rest of its warpgroup, or registers in use"},
    StallMetric{"math_pipe_throttle", "an arithmetic pipe that is busy"},
    StallMetric{"mio_throttle", "the queue to shared memory, special functions, branches"},
    StallMetric{"lg_throttle", "the queue to global and local memory"},
    StallMetric{"tex_throttle", "the queue to the texture unit"},
    StallMetric{"wait", "a fixed time after the instruction before"},
    StallMetric{"not_selected", "the scheduler, which another warp has"},
    StallMetric{"no_instruction", "instructions, not yet fetched"},
    StallMetric{"branch_resolving", "the target of a branch"},
    StallMetric{"dispatch_stall", "the dispatcher"},
    StallMetric{"imc_miss", "constants, not in their cache"},
    StallMetric{"membar", "a memory fence"},
    StallMetric{"drain", "its stores, before it ends"},
    StallMetric{"sleeping", "the end of its sleep"},
    StallMetric{"misc", "something else"},
};

constexpr const char* kTime = "gpu__time_duration.sum";
// Of the cycles that pass on all SMs, those in which an SM had a warp.
constexpr const char* kCyclesActive = "sm__cycles_active.avg";
constexpr const char* kCyclesElapsed = "sm__cycles_elapsed.max";
constexpr const char* kOccupancy = "sm__warps_active.avg.pct_of_peak_sustained_active";
constexpr const char* kOccupancyPossible = "sm__maximum_warps_per_active_cycle_pct";
constexpr const char* kRegisters = "launch__registers_per_thread";
// Wavefronts of loads and stores in shared memory, and how many of them bank conflicts made.
constexpr const char* kSharedWavefronts = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum";
constexpr const char* kBankConflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum";

struct OccupancyLimit {
  const char* name;  // blocks an SM that this allows
  const char* what;
};

constexpr std::array kOccupancyLimits = {
    OccupancyLimit{"launch__occupancy_limit_registers", "registers"},
    OccupancyLimit{"launch__occupancy_limit_shared_mem", "shared memory"},
    OccupancyLimit{"launch__occupancy_limit_warps", "warps"},
    OccupancyLimit{"launch__occupancy_limit_blocks", "blocks"},
};

// Kept among the counters for people.
constexpr std::array kOtherMetrics = {
    // The busiest part of an SM, of any: beside our shares it says whether one is missing.
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    // L1 and shared memory: the busiest of its stages.
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
    // Load and store instructions issued.
    "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active",
    "smsp__inst_executed.sum",
    // The clock that all of this ran at.
    "sm__cycles_elapsed.avg.per_second",
    "lts__t_sector_hit_rate.pct",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "launch__waves_per_multiprocessor",
    // Local memory: spills.
    "smsp__sass_inst_executed_op_local.sum",
};

std::string stall_metric(const char* reason) {
  return fmt::format("smsp__average_warps_issue_stalled_{}_per_issue_active.ratio", reason);
}

// Microseconds from what a time is given in.
double us_of(const NcuReport::Metric& time) {
  static const std::map<std::string, double, std::less<>> kUnits = {
      {"ns", 1e-3}, {"nsecond", 1e-3}, {"us", 1},  {"usecond", 1},
      {"ms", 1e3},  {"msecond", 1e3},  {"s", 1e6}, {"second", 1e6}};
  const auto unit = kUnits.find(time.unit);
  if (unit == kUnits.end() || !(time.value > 0))
    throw MachineError(fmt::format(
        "what Nsight Compute printed cannot be read: {} is {} {}, expected a time in ns", kTime,
        time.value, quote_text(time.unit)));
  return time.value * unit->second;
}

void read_shares(const NcuReport& report, report::Profile& profile) {
  std::map<Bottleneck, double> highest;
  for (const ShareMetric& metric : kShareMetrics)
    if (const auto percent = report.value(metric.name)) {
      const auto [place, fresh] = highest.emplace(metric.resource, *percent);
      place->second = std::max(place->second, *percent);
    }
  for (const auto& [resource, percent] : highest) profile.shares.push_back({resource, percent});
  if (profile.shares.empty())
    throw MachineError(
        "Nsight Compute knows none of the metrics that tell how busy a part of this GPU is; a "
        "newer one may, or use --with emulator");
}

void read_stalls(const NcuReport& report, report::Profile& profile) {
  double all = 0;
  for (const StallMetric& stall : kStallMetrics)
    all += std::max(0.0, report.value(stall_metric(stall.reason)).value_or(0));
  if (all <= 0) return;
  for (const StallMetric& stall : kStallMetrics)
    if (const auto warps = report.value(stall_metric(stall.reason)); warps && *warps > 0)
      profile.stalls.push_back({stall.reason, stall.meaning, 100 * *warps / all});
}

void read_occupancy(const NcuReport& report, report::Profile& profile) {
  profile.occupancy = report.value(kOccupancy);
  profile.occupancy_possible = report.value(kOccupancyPossible);
  std::optional<double> least;
  for (const OccupancyLimit& limit : kOccupancyLimits) {
    const auto blocks = report.value(limit.name);
    if (!blocks || (least && *blocks >= *least)) continue;
    least = blocks;
    profile.occupancy_limited_by = limit.what;
  }
  const auto active = report.value(kCyclesActive);
  const auto elapsed = report.value(kCyclesElapsed);
  if (active && elapsed && *elapsed > 0)
    profile.sms_active = std::min(100.0, 100 * *active / *elapsed);
}

}  // namespace

std::vector<std::string> ncu_metrics() {
  std::vector<std::string> names = {kTime,          kCyclesActive,     kCyclesElapsed,
                                    kOccupancy,     kRegisters,        kSharedWavefronts,
                                    kBankConflicts, kOccupancyPossible};
  for (const ShareMetric& metric : kShareMetrics) names.emplace_back(metric.name);
  for (const StallMetric& stall : kStallMetrics) names.push_back(stall_metric(stall.reason));
  for (const OccupancyLimit& limit : kOccupancyLimits) names.emplace_back(limit.name);
  for (const char* const name : kOtherMetrics) names.emplace_back(name);
  return names;
}

report::Profile profile_of(const NcuReport& report) {
  const NcuReport::Metric* time = report.find(kTime);
  if (time == nullptr)
    throw MachineError("what Nsight Compute printed cannot be read: it has no " +
                       std::string(kTime));
  report::Profile profile;
  profile.source = "ncu";
  profile.time_kind = "measured";
  profile.time_us = us_of(*time);
  read_shares(report, profile);
  read_stalls(report, profile);
  read_occupancy(report, profile);
  if (const auto registers = report.value(kRegisters))
    profile.registers = static_cast<int>(std::lround(*registers));
  const auto wavefronts = report.value(kSharedWavefronts);
  const auto conflicts = report.value(kBankConflicts);
  if (wavefronts && conflicts && *wavefronts > 0)
    profile.bank_conflicts = std::clamp(100 * *conflicts / *wavefronts, 0.0, 100.0);
  for (const NcuReport::Metric& metric : report.metrics)
    profile.counters.emplace_back(metric.name, metric.value);
  report::find_limit(profile);
  return profile;
}

}  // namespace fa_tune::profiler
