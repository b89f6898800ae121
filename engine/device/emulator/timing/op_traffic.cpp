#include "engine/device/emulator/timing/op_traffic.hpp"

#include <algorithm>

#include "engine/device/emulator/timing/sm_simulation.hpp"

namespace fa_tune::emulator {

std::vector<OpTraffic> traffic_per_execution(const MachineCode& code, const Record& record,
                                             const L1Reuse& l1) {
  const auto& ops = record.ops();
  std::vector<OpTraffic> traffic(ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].executions == 0) continue;
    const double executions = real(ops[i].executions);
    const Role role = code.costs[i].role;
    double wavefronts = real(ops[i].shared_wavefronts);
    if (role == Role::global_read || role == Role::global_write)
      wavefronts += real(ops[i].global_wavefronts);
    traffic[i].wavefronts = wavefronts / executions;
    double sectors = real(ops[i].global_sectors);
    if (role == Role::global_read) {
      traffic[i].from = load_sources(ops[i], l1);
      sectors -= l1_hits(ops[i], l1);
    }
    if (role == Role::async_copy) {
      // What goes to several lines of shared memory is asked for anew for each; what goes to more
      // than two was never measured, and is taken to be asked for twice.
      sectors = std::clamp(real(ops[i].async_sectors), sectors, 2 * sectors);
    }
    traffic[i].sectors = sectors / executions;
    traffic[i].in_part = real(ops[i].sectors_in_part) / executions;
  }
  return traffic;
}

const char* name_of(Wait wait) {
  constexpr const char* names[] = {"arithmetic",    "special",       "tensor cores",
                                   "shared memory", "global memory", "async copies",
                                   "barriers",      "busy unit",     "scheduler"};
  return wait < Wait::count ? names[static_cast<std::size_t>(wait)] : "";
}

}  // namespace fa_tune::emulator
