#include "engine/device/emulator/prediction/launch_detail.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace fa_tune::emulator {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLinesShown = 10;

Json parts_json(const std::vector<Part>& parts) {
  Json object = Json::object();
  for (const Part& part : parts) object[part.name] = rounded_us(part.us);
  return object;
}

Json counters_json(const Counters& counters) {
  Json object = Json::object();
  for (const auto& [name, value] : named_counters(counters)) object[name] = value;
  return object;
}

// The instructions that cost the most wavefronts beyond what they need.
Json lines_json(const Program& program, const Record& record, double to_grid) {
  const auto& ops = record.ops();
  const auto excess = [&](std::size_t i) {
    return ops[i].shared_wavefronts - ops[i].shared_wavefronts_ideal;
  };
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (excess(i) > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return excess(a) > excess(b); });
  if (order.size() > kLinesShown) order.resize(kLinesShown);
  const auto grid = [&](std::uint64_t count) { return std::llround(real(count) * to_grid); };
  Json lines = Json::array();
  for (const std::size_t i : order) {
    lines.push_back({{"ptx_line", program.ops[i].line},
                     {"source", program.sources.of(i)},
                     {"instruction", program.names[program.ops[i].name]},
                     {"executions", grid(ops[i].executions)},
                     {"wavefronts", grid(ops[i].shared_wavefronts)},
                     {"excess", grid(excess(i))}});
  }
  return lines;
}

}  // namespace

double rounded_us(double us) { return std::round(us * 1000) / 1000; }

Json detail_of(const SimulatedLaunch& simulated, const Program& program, const Record& record) {
  return {
      {"us", rounded_us(simulated.us)},
      {"bound_by", simulated.bound_by},
      {"launch_us", rounded_us(simulated.launch_us)},
      {"occupancy",
       {{"blocks_per_sm", simulated.held.blocks_per_sm},
        {"warps_per_sm", simulated.held.warps_per_sm},
        {"limited_by", simulated.held.limited_by},
        {"blocks_on_busiest_sm", simulated.blocks_on_busiest_sm}}},
      {"units_us", parts_json(simulated.units)},
      {"atomics_us", rounded_us(simulated.atomics_us)},
      {"waits_of_a_warp_us", parts_json(simulated.waits)},
      {"simulated_share", rounded_us(simulated.simulated_share)},
      {"machine_code_share", rounded_us(simulated.machine_share)},
      {"machine_code_unmatched", simulated.unmatched},
      {"counters", counters_json(simulated.counters)},
      {"conflicts", lines_json(program, record, simulated.to_grid)},
  };
}

}  // namespace fa_tune::emulator
