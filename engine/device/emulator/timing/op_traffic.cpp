#include "engine/device/emulator/timing/op_traffic.hpp"

#include <algorithm>
#include <cmath>

#include "engine/device/emulator/timing/sm_simulation.hpp"

namespace fa_tune::emulator {
namespace {

// Multiples of these are spread evenly, however many they are: draws of one instruction after the
// other, and the first draws of several.
constexpr double kGoldenRatio = 0.6180339887498949;
constexpr double kPlasticRatio = 0.7548776662466927;

}  // namespace

EvenDraws::EvenDraws(std::size_t instructions) {
  for (std::size_t i = 0; i < instructions; ++i)
    last_.push_back(std::fmod(static_cast<double>(i) * kPlasticRatio, 1.0));
}

double EvenDraws::next(std::size_t instruction) {
  double& last = last_[instruction];
  return last = std::fmod(last + kGoldenRatio, 1.0);
}

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
