#include "engine/device/emulator/clock/estimate.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace fa_tune::emulator {
namespace {

constexpr double kStartClocks = 0;
constexpr double kSlack = 1.0;
// Where CTAs read the same lines at about the same time, one answer of L2 serves several SMs.
constexpr double kCommonGain = 1.45;
constexpr double kReuseOfCommon = 8;
constexpr double kInstructionBytes = 16;
constexpr double kInstructionCacheBytes = 40 * 1024;
constexpr double kFetchClocks = 2;

using Json = nlohmann::ordered_json;

double rounded(double value) { return std::round(value * 1000) / 1000; }

// Bytes that a CTA reads from global memory, on average.
double bytes_read(const Record& record) {
  const double blocks = std::max(static_cast<double>(record.totals.blocks), 1.0);
  return 32 * static_cast<double>(record.totals.global_sectors_read) / blocks;
}

// Instructions of the longest loop, as the machine has them.
double loop_instructions(const Program& program, const MachineCode& code) {
  std::vector<double> before(code.costs.size() + 1, 0);
  for (std::size_t i = 0; i < code.costs.size(); ++i) {
    before[i + 1] = before[i] + code.costs[i].issues;
  }
  double most = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (op.kind == Kind::branch && op.target <= i) {
      most = std::max(most, before[i + 1] - before[op.target]);
    }
  }
  return most;
}

}  // namespace

Prediction estimate_time(const DeviceProfile& profile, const KernelResources& resources,
                         const LaunchConfig& launch, const Program& program, const Record& record,
                         double footprint_bytes) {
  const Occupancy held = occupancy(profile, resources, launch);
  const double blocks = std::max(static_cast<double>(launch.grid.count()), 1.0);
  const double sms = std::max(profile.sms, 1);
  SmWork work;
  work.blocks = static_cast<std::uint64_t>(std::ceil(blocks / sms));
  work.resident = std::max(held.blocks_per_sm, 1);
  const double reuse = bytes_read(record) * blocks / std::max(footprint_bytes, 1.0);
  const double l2_rate =
      profile.l2_bytes_per_clock_sm * std::clamp(reuse / kReuseOfCommon, 1.0, kCommonGain);
  // L2 serves the SMs that work; each takes what its port allows.
  work.l2_bytes_per_clock =
      std::min(profile.l2_port_bytes_per_clock_sm, l2_rate * sms / std::min(blocks, sms));
  work.spilled_words =
      (std::max(resources.spill_store_bytes, 0) + std::max(resources.spill_load_bytes, 0)) / 4.0;
  const MachineCode code = make_machine_code(program, profile);
  const double code_bytes = kInstructionBytes * loop_instructions(program, code);
  if (code_bytes > kInstructionCacheBytes) work.clocks_per_issue = kFetchClocks;
  const SmTime sm = simulate_sm(code, record, profile, work);

  const double us_per_clock = 1 / profile.clock_mhz;
  const double beyond_l2 =
      footprint_bytes > static_cast<double>(profile.l2_bytes) ? footprint_bytes : 0;
  const double dram_us = beyond_l2 / (profile.dram_gb_per_s * 1e3);
  const double sm_us = (sm.clocks * kSlack + kStartClocks) * us_per_clock;
  Prediction prediction;
  prediction.us = profile.launch_us + std::max(sm_us, dram_us);

  Json units = Json::object();
  double most = 0;
  prediction.bound_by = "latency";
  const double simulated = sm.clocks * sm.share;
  for (std::size_t i = 0; i < unit_count; ++i) {
    const auto unit = static_cast<Unit>(i);
    const double share = sm.busy[i] / (unit == Unit::memory ? 1.0 : 4.0) / std::max(simulated, 1.0);
    units[name_of(unit)] = rounded(share);
    if (share > most) {
      most = share;
      if (share > 0.6) prediction.bound_by = name_of(unit);
    }
  }
  Json waits = Json::object();
  for (std::size_t i = 0; i < wait_count; ++i) {
    waits[name_of(static_cast<Wait>(i))] = rounded(sm.waits[i] / std::max(sm.warps, 1.0));
  }
  const Json detail = {{"us", rounded(prediction.us)},
                       {"bound_by", prediction.bound_by},
                       {"launch_us", profile.launch_us},
                       {"dram_us", rounded(dram_us)},
                       {"clocks", rounded(sm.clocks)},
                       {"simulated_share", rounded(sm.share)},
                       {"instructions", sm.instructions},
                       {"blocks_on_busiest_sm", work.blocks},
                       {"resident", work.resident},
                       {"limited_by", held.limited_by},
                       {"loop_bytes", code_bytes},
                       {"units_busy", units},
                       {"issue_busy", rounded(sm.issues / 4 / std::max(simulated, 1.0))},
                       {"waits_clocks_a_warp", waits}};
  prediction.detail_json = detail.dump();
  return prediction;
}

}  // namespace fa_tune::emulator
