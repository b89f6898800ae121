#include "engine/device/emulator/clock/estimate.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace fa_tune::emulator {
namespace {

constexpr double kStartClocks = 0;
constexpr double kBlockStartClocks = 300;

using Json = nlohmann::ordered_json;

double rounded(double value) { return std::round(value * 1000) / 1000; }

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
  work.l2_bytes_per_clock = profile.l2_bytes_per_clock_sm;
  work.block_start_clocks = kBlockStartClocks;
  const MachineCode code = make_machine_code(program, profile);
  const SmTime sm = simulate_sm(code, record, profile, work);

  const double us_per_clock = 1 / profile.clock_mhz;
  const double beyond_l2 =
      footprint_bytes > static_cast<double>(profile.l2_bytes) ? footprint_bytes : 0;
  const double dram_us = beyond_l2 / (profile.dram_gb_per_s * 1e3);
  const double sm_us = (sm.clocks + kStartClocks) * us_per_clock;
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
                       {"units_busy", units},
                       {"issue_busy", rounded(sm.issues / 4 / std::max(simulated, 1.0))},
                       {"waits_clocks_a_warp", waits}};
  prediction.detail_json = detail.dump();
  return prediction;
}

}  // namespace fa_tune::emulator
